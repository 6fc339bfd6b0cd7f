/* Search as you type: Sphinx's own search and its index are fetched when a
   reader first opens the dialog. The search page has them already. */
addEventListener("DOMContentLoaded", () => {
  const dialog = document.getElementById("pst-search-dialog");
  if (!dialog || document.getElementById("search-results")) return;

  const input = dialog.querySelector("input");
  const root = document.documentElement.dataset.content_root;
  const results = document.createElement("section");
  results.id = "search-results"; // where Sphinx puts what it finds
  results.className = "empty";
  results.setAttribute("aria-live", "polite");
  dialog.append(results);

  // Sphinx names pages as seen from the root, where its search page is; those
  // that are folders, as seen from here.
  if (DOCUMENTATION_OPTIONS.BUILDER !== "dirhtml") {
    new MutationObserver(() => {
      for (const link of results.querySelectorAll("a:not([data-rooted])")) {
        link.dataset.rooted = "";
        link.href = root + link.getAttribute("href");
      }
    }).observe(results, { childList: true, subtree: true });
  }

  let typed = "";
  const loaded = {};
  const load = (path) =>
    (loaded[path] ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = root + path;
      script.onload = resolve;
      script.onerror = () => {
        loaded[path] = null;
        reject();
      };
      document.head.append(script);
    }));
  const ready = async () => {
    await load("_static/language_data.js");
    await load("_static/searchtools.js");
    input.value = typed; // Sphinx has emptied it
    await load("searchindex.js");
  };

  // One query after the other: Sphinx puts each hit, of whichever query, into
  // the newest list.
  let shown = "";
  let busy = false;
  const follow = async () => {
    if (busy) return; // which goes on with what is typed meanwhile
    busy = true;
    try {
      while (shown !== typed.trim()) {
        shown = typed.trim();
        if (shown) await ready();
        results.replaceChildren();
        results.classList.toggle("empty", !shown);
        if (!shown) continue;
        Search.performSearch(shown);
        while (!Search.status.textContent) {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    } catch {
      shown = null;
      results.replaceChildren("The search could not be loaded. Type to try again.");
      results.classList.remove("empty");
    }
    busy = false;
  };

  let timer;
  input.addEventListener("focus", () => ready().catch(() => {})); // typing tells
  input.addEventListener("input", () => {
    typed = input.value;
    clearTimeout(timer);
    timer = setTimeout(follow, 200);
  });
});
