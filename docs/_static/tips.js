/* What a term means and what a value was asked: shown on hover, on focus of a
   term's link, and on a tap. Without scripts, hovering a term shows its title. */
addEventListener("DOMContentLoaded", () => {
  if (!("popover" in HTMLElement.prototype)) return;

  for (const term of document.querySelectorAll("a[title]:has(> .std-term)")) {
    term.dataset.tip = term.title;
    term.removeAttribute("title");
  }

  // What the values of the page were asked is fetched when it is first shown.
  const root = document.documentElement;
  const facts = document.querySelectorAll(".fact");
  let fetched;
  const fetchAsked = () =>
    (fetched ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = root.dataset.content_root + root.dataset.asked;
      script.onload = resolve;
      script.onerror = reject;
      document.head.append(script);
    })
      .then(() => facts.forEach((fact, number) => (fact.dataset.tip = asked[number])))
      .catch(() => {
        fetched = null;
        for (const fact of facts) fact.dataset.tip = "What was asked could not be loaded.";
      }));

  const tip = document.createElement("div");
  tip.id = "tip";
  tip.role = "tooltip";
  tip.popover = "manual";
  document.querySelector("main").append(tip);

  let shown = null;
  let timer;

  const show = async (element) => {
    clearTimeout(timer);
    if (element === shown) return;
    hide();
    shown = element;
    if (element.matches(".fact")) await fetchAsked();
    if (element !== shown) return; // hidden meanwhile, or another
    tip.textContent = element.dataset.tip;
    if (element.matches("a")) element.setAttribute("aria-describedby", tip.id);
    tip.showPopover();
    const { left, top, bottom } = element.getClientRects()[0];
    const { width, height } = tip.getBoundingClientRect();
    const below = bottom + height < innerHeight;
    tip.style.left = `${Math.max(8, Math.min(left, document.documentElement.clientWidth - width - 8))}px`;
    tip.style.top = `${below ? bottom : top - height}px`;
  };
  const hide = () => {
    clearTimeout(timer);
    shown?.removeAttribute("aria-describedby");
    shown = null;
    tip.hidePopover();
  };
  const target = (event) => event.target.closest?.("[data-tip], .fact");

  document.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "mouse") return;
    const element = target(event);
    if (element) show(element);
    else if (event.target === tip) clearTimeout(timer); // it can be read and selected
  });
  document.addEventListener("pointerout", (event) => {
    if (event.pointerType === "mouse" && (target(event) || event.target === tip)) {
      timer = setTimeout(hide, 200);
    }
  });
  document.addEventListener("focusin", (event) => {
    const element = target(event);
    if (element?.matches(":focus-visible")) show(element);
  });
  document.addEventListener("focusout", (event) => {
    if (target(event)) hide();
  });

  // A tap shows the tip; on a term whose tip is shown, it follows the link.
  let tapped = null;
  document.addEventListener("pointerdown", (event) => {
    tapped = event.pointerType === "mouse" ? null : { was: shown };
    if (shown && target(event) !== shown && event.target !== tip) hide();
  });
  document.addEventListener("click", (event) => {
    const element = target(event);
    if (!element || !tapped || element.closest("summary")) return;
    if (tapped.was === element) {
      if (!element.matches("a")) hide();
      return;
    }
    event.preventDefault();
    show(element);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  document.addEventListener("scroll", hide, { passive: true });

  // For readers without a pointer: all that was asked, in the text.
  const button = document.querySelector(".asked-button");
  button?.addEventListener("click", () => {
    button.setAttribute("aria-pressed", root.classList.toggle("asked"));
    fetchAsked();
  });
});
