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

  const load = (path) =>
    new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = root + path;
      script.onload = resolve;
      script.onerror = reject;
      document.head.append(script);
    });
  let loaded;
  const ready = () =>
    (loaded ??= load("_static/language_data.js")
      .then(() => load("_static/searchtools.js"))
      .then(() => load("searchindex.js")));
  input.addEventListener("focus", ready);

  let timer;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      await ready();
      const query = input.value.trim();
      results.replaceChildren();
      results.classList.toggle("empty", !query);
      if (query) Search.performSearch(query);
    }, 200);
  });
});
