/* Predict, then reveal: a button above a table for each column of answers. It
   covers them, and what is right of them, and asks row by row. */
"use strict";

(() => {
  const make = (name, attributes, ...children) => {
    const element = document.createElement(name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    element.append(...children);
    return element;
  };
  const valueOf = (cell) => cell.querySelector(".fact")?.textContent;
  const textOf = (cell) => {
    const copy = cell.cloneNode(true);
    for (const each of copy.querySelectorAll(".since-mark, .since-yours")) each.remove();
    return copy.textContent.trim();
  };
  // By size or by letter, in every language the same.
  const { compare } = new Intl.Collator("en", { numeric: true });
  const plain = (value) => value.replaceAll(",", "");

  const best = (key, right) => {
    try {
      right = Math.max(right, localStorage.getItem(key));
      localStorage.setItem(key, right);
    } catch { /* a browser may refuse to store */ }
    return right;
  };

  // Ask for the column of a heading; returns what puts all back.
  const ask = (table, head, key, tell) => {
    const column = head.closest("th").cellIndex;
    const first = table.querySelector("th .predict").closest("th").cellIndex;
    const rows = [...table.querySelectorAll("tbody tr")]
      .filter(({ cells }) => valueOf(cells[column]));
    const values = new Set(rows.map(({ cells }) => valueOf(cells[column])));
    const choices = [...values].sort((a, b) => compare(plain(a), plain(b)));
    const total = rows.length;
    const back = [];
    let right = 0;
    let done = 0;

    for (const { cells } of rows) {
      const answer = valueOf(cells[column]);
      const covers = [...cells].slice(first).map((cell) => {
        const cover = make("div", { class: "predict-answer", hidden: "" }, ...cell.childNodes);
        cell.append(cover);
        back.push(() => cell.replaceChildren(...cover.childNodes));
        return cover;
      });
      const label = `${head.textContent} of ${textOf(cells[0])}`;
      const select = make(
        "select",
        { class: "predict-choice", "aria-label": label },
        make("option", { value: "" }, "?"),
        ...choices.map((value) => make("option", {}, value)),
      );
      cells[column].append(select);

      const settle = () => {
        const guess = select.value;
        if (!guess) return;
        const isRight = guess === answer;
        const [sign, name, said] = isRight
          ? ["✓ ", "predict-right", "right"]
          : ["✗ ", "predict-wrong", `wrong: ${guess}`];
        const verdict = make("div", { class: name, tabindex: -1 });
        verdict.append(make("span", { "aria-hidden": true }, sign), said);
        done += 1;
        right += isRight;
        for (const cover of covers) cover.hidden = false;
        cells[column].append(verdict);
        const held = select === document.activeElement;
        select.value = ""; // it is left once more
        // The next stop of the tab key is the next row.
        if (held) verdict.focus({ preventScroll: true });
        select.remove();
        const rest = done < total ? `${total - done} to go` : `your best: ${best(key, right)}`;
        tell(`${right} of ${done} right, ${rest}`, `${said}; it is ${answer}.`);
      };
      // With arrow keys a reader passes by values that are no guess yet.
      let passing;
      select.onpointerdown = () => (passing = false);
      select.onkeydown = (event) => (passing = event.key !== "Enter") || settle();
      select.onchange = () => passing || settle();
      select.onblur = settle;
    }
    tell(`${total} to go`, "Choose in each row. Enter or Tab settles a choice.");
    return () => back.forEach((each) => each());
  };

  const offer = (table, number) => {
    const said = make("span", { class: "predict-said" });
    const count = make("span", {});
    const tell = (counted, words) => {
      count.textContent = counted;
      said.textContent = words;
    };
    const all = make("button", { hidden: "" }, "Show all");
    let pressed;
    let back;
    const press = (button, head) => {
      const last = pressed;
      last?.setAttribute("aria-pressed", false);
      back?.();
      pressed = back = null;
      tell("", "");
      if (head && button !== last) {
        pressed = button;
        button.setAttribute("aria-pressed", true);
        const key = `predict ${location.pathname} ${number} ${head.textContent}`;
        back = ask(table, head, key, tell);
      }
      all.hidden = !pressed;
      if (!head) last.focus();
    };
    const buttons = [...table.querySelectorAll("th .predict")].map((head) => {
      const button = make("button", { "aria-pressed": false }, `Predict ${head.textContent}`);
      button.onclick = () => press(button, head);
      return button;
    });
    all.onclick = () => press(all);
    const status = make("span", { role: "status" }, said, " ", count);
    const bar = make("div", { class: "predict-bar" }, ...buttons, all, status);
    (table.closest(".pst-scrollable-table-container") ?? table).before(bar);
  };

  const heads = [...document.querySelectorAll("th .predict")];
  [...new Set(heads.map((head) => head.closest("table")))].forEach(offer);
})();
