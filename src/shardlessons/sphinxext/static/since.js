/* What differs on the reader's release of jax. Without this script the marks
   and the tables are there all the same. */
"use strict";

(() => {
  const KEY = "shardlessons-jax";
  const source = document.getElementById("since-data");
  if (!source) return;
  const releases = source.dataset.releases.split(" ");
  const tables = document.querySelector(".since-tables");

  // A browser may refuse to store; the choice then lasts for the page.
  const recall = () => {
    try { return localStorage.getItem(KEY); } catch { return null; }
  };
  const remember = (release) => {
    try { localStorage.setItem(KEY, release); } catch { /* not stored */ }
  };

  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };
  const select = (text, options, change) => {
    const choice = make("select", { className: "since-choice" });
    for (const [value, shown] of options) {
      choice.append(make("option", { value }, shown));
    }
    choice.addEventListener("change", () => change(choice.value));
    return [make("label", {}, `${text} `, choice), choice];
  };

  // What differs on this page, fetched when a release is first chosen.
  let fetched;
  const fetchData = () => (fetched ??= new Promise((resolve, reject) => {
    const script = make("script", {
      src: document.documentElement.dataset.content_root + source.dataset.source,
      onload: () => resolve(sinceData),
      onerror: () => { fetched = null; reject(); },
    });
    document.head.append(script);
  }));

  // The value of a fact on a release: how it differs from the page, and its text.
  const valueOn = (release, stretches, texts) => {
    let left = releases.indexOf(release);
    for (const [span, kind = "", place] of stretches) {
      if (left < span) return { kind, text: texts[place] };
      left -= span;
    }
    return { kind: "" };
  };

  const say = (anchor, release, { kind, text }) => {
    const fact = document.getElementById(anchor);
    if (!fact) return;
    fact.classList.add("since-differs");
    const inline = fact.matches("span");
    const note = make(
      inline ? "span" : "div",
      { className: "since-yours" },
      `on jax ${release}, ${kind}: `,
      make("code", {}, text),
    );
    const mark = fact.nextElementSibling;
    const place = mark && mark.matches(".since-mark, .since-below") ? mark : fact;
    place.after(note);
  };

  const status = make("p", { className: "since-status" });
  status.setAttribute("role", "status");
  // At the head of the page too, where it is read first.
  const head = make("p", { className: "since-head" });

  let chosen = "";
  const show = async (release) => {
    chosen = releases.includes(release) ? release : "";
    for (const old of document.querySelectorAll(".since-yours")) old.remove();
    for (const old of document.querySelectorAll(".since-differs")) {
      old.classList.remove("since-differs");
    }
    if (tables) return markColumn(chosen);
    tell(chosen && `What differs on jax ${chosen} is being loaded.`);
    if (!chosen) return;
    const data = await fetchData().catch(() => null);
    if (chosen !== release) return; // another, meanwhile
    if (!data) return tell(`What differs on jax ${release} could not be loaded.`);
    let count = 0;
    for (const [anchor, stretches] of Object.entries(data.facts)) {
      const value = valueOn(release, stretches, data.texts);
      if (!value.kind) continue;
      say(anchor, release, value);
      count += 1;
    }
    const number = count === 1 ? "1 fact differs" : `${count} facts differ`;
    tell(`On jax ${release}, ${number} on this page.`);
  };

  const tell = (text) => {
    status.textContent = text;
    const another = make("a", { href: "#since-choice" }, "Choose another.");
    head.replaceChildren(text, " ", another);
    head.hidden = !text;
  };

  const pick = (release) => {
    remember(release);
    for (const choice of pickers) choice.value = release;
    show(release);
  };

  const named = [["", "no release"], ...releases.map((name) => [name, name])];
  const pickers = [];
  const picker = (text) => {
    const [label, choice] = select(text, named, pick);
    pickers.push(choice);
    return label;
  };

  // --- the tables -----------------------------------------------------------

  const cellOn = (body, release) => {
    let left = releases.indexOf(release);
    for (const cell of body.rows[0].querySelectorAll("td")) {
      if (left < cell.colSpan) return cell;
      left -= cell.colSpan;
    }
    return null;
  };

  const markColumn = (release) => {
    for (const body of tables.querySelectorAll("tbody")) {
      for (const cell of body.rows[0].cells) cell.classList.remove("since-mine");
      if (release) cellOn(body, release)?.classList.add("since-mine");
    }
  };

  const filters = () => {
    const wanted = { page: "", release: "", kind: "" };
    const found = make("p", { className: "since-status" });
    found.setAttribute("role", "status");
    const apply = () => {
      const isChosen = Object.values(wanted).some(Boolean);
      let shown = 0;
      for (const group of tables.querySelectorAll(".since-group")) {
        let here = 0;
        for (const body of group.querySelectorAll("tbody")) {
          const cell = wanted.release && cellOn(body, wanted.release);
          const keep =
            (!wanted.page || wanted.page === group.dataset.page) &&
            (!wanted.release || cell.dataset.kind !== "") &&
            (!wanted.kind || (wanted.release
              ? cell.dataset.kind === wanted.kind
              : body.dataset.kinds.split(",").includes(wanted.kind)));
          body.hidden = !keep;
          here += keep;
        }
        group.hidden = here === 0;
        group.open = isChosen;
        shown += here;
      }
      found.textContent = shown === 1 ? "1 fact" : `${shown} facts`;
    };
    const set = (name) => (value) => { wanted[name] = value; apply(); };
    const pages = [...tables.querySelectorAll(".since-group")].map(
      (group) => [group.dataset.page, group.dataset.title],
    );
    const kinds = new Set(
      [...tables.querySelectorAll("tbody")].flatMap((b) => b.dataset.kinds.split(",")),
    );
    const all = (options) => [["", "all"], ...options];
    const form = make(
      "form",
      { className: "since-filters" },
      select("Page", all(pages), set("page"))[0],
      select("Differs on", all(releases.map((r) => [r, r])), set("release"))[0],
      select("Kind of change", all([...kinds].sort().map((k) => [k, k])), set("kind"))[0],
    );
    form.setAttribute("aria-label", "Which facts to show");
    form.addEventListener("submit", (event) => event.preventDefault());
    tables.before(form, found);
    apply();
  };

  // A row that a page leads to is in a table that is closed.
  const reveal = () => {
    const row = tables.querySelector(":target");
    if (!row) return;
    row.closest("details").open = true;
    row.scrollIntoView();
  };

  // --- where the reader chooses ---------------------------------------------

  const foot = document.querySelector(".facts-foot");
  if (foot) foot.append(make("p", {}, picker("What differs on my jax:")), status);
  if (tables) {
    tables.before(make("p", {}, picker("What differs on my jax, on every page:")));
    filters();
    reveal();
    addEventListener("hashchange", reveal);
  }
  if (foot) {
    foot.id = "since-choice";
    document.querySelector("section > h1")?.after(head);
  }
  const release = recall() ?? "";
  for (const choice of pickers) choice.value = releases.includes(release) ? release : "";
  show(release);
})();
