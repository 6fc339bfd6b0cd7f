/* A block is copied with the prelude above it, and so runs alone. The copy
   button takes the text of a block: the prelude is put there first, unseen. */
"use strict";

document.addEventListener(
  "click",
  (event) => {
    const block = event.target.closest?.(".copybtn")?.previousElementSibling;
    const isExample = block?.matches(".highlight-pycon pre");
    if (!isExample && !block?.matches(".cell_input pre")) return;
    if (block.closest(".tag_prelude") || block.querySelector(".prelude")) return;

    const prelude = [...document.querySelectorAll(".tag_prelude .cell_input pre")]
      .filter((each) => each.compareDocumentPosition(block) & Node.DOCUMENT_POSITION_FOLLOWING)
      .at(-1);
    if (!prelude) return;

    // Of an example, only what has a prompt is copied.
    const prompt = isExample ? ">>> " : "";
    const lines = prelude.textContent.trimEnd().split("\n");
    const unseen = document.createElement("span");
    unseen.className = "prelude";
    unseen.hidden = true;
    unseen.textContent = [...lines, ""].map((line) => `${prompt}${line}\n`).join("");
    block.prepend(unseen);
  },
  { capture: true }, // before the copy button's own
);
