/* What a term means, what a value was asked and where it differs: shown on
   hover, on focus of a link, and on a tap. Without scripts, the links lead to
   the glossary and to the table, and the page's source has what was asked. */
addEventListener("DOMContentLoaded", () => {
  if (!("popover" in HTMLElement.prototype)) return;

  // The tips of a page are fetched when the first one is shown.
  const root = document.documentElement;
  const elements = document.querySelectorAll(".fact, a:has(> .std-term)");
  let fetched;
  const fetchTips = () =>
    (fetched ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = root.dataset.content_root + root.dataset.tips;
      script.onload = resolve;
      script.onerror = reject;
      document.head.append(script);
    })
      .then(() => elements.forEach((element, i) => (element.dataset.tip = tips[i])))
      .catch(() => {
        fetched = null;
        for (const each of elements) each.dataset.tip = "This could not be loaded.";
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
    const mark = element.matches(".since-mark");
    if (!mark) await fetchTips();
    if (element !== shown) return; // hidden meanwhile, or another
    tip.textContent = mark ? element.textContent : element.dataset.tip;
    if (element.matches("a")) element.setAttribute("aria-describedby", tip.id);
    tip.showPopover();
    place();
  };
  const place = () => {
    const { left, top, bottom } = shown.getClientRects()[0];
    const { width, height } = tip.getBoundingClientRect();
    const below = bottom + height < innerHeight;
    tip.style.left = `${Math.max(8, Math.min(left, root.clientWidth - width - 8))}px`;
    tip.style.top = `${below ? bottom : top - height}px`;
  };
  const hide = () => {
    clearTimeout(timer);
    shown?.removeAttribute("aria-describedby");
    shown = null;
    tip.hidePopover();
  };
  const tipped = ".fact, a:has(> .std-term), .since-mark";
  const target = (event) => event.target.closest?.(tipped);

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
  // A browser scrolls to what the keyboard reaches.
  document.addEventListener("scroll", () => shown && place(), { passive: true });

  // For readers without a pointer: all that was asked, in the text.
  const button = document.querySelector(".asked-button");
  button?.addEventListener("click", () => {
    button.setAttribute("aria-pressed", root.classList.toggle("asked"));
    fetchTips();
  });
});
