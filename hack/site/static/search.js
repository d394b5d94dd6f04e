// Finds the pages that have all words, those with a word in the title first. pages.js has the texts.
(() => {
  const root = document.currentScript.src.replace(/search\.js$/, "");
  const input = document.getElementById("search");
  const list = document.getElementById("found");
  const pages = (window.pages || []).map((p) => ({ ...p, lower: (p.title + " " + p.text).toLowerCase() }));

  function find(words) {
    return pages
      .filter((p) => words.every((w) => p.lower.includes(w)))
      .map((p) => {
        const inTitle = words.filter((w) => p.title.toLowerCase().includes(w)).length;
        return { ...p, rank: 1000 * inTitle + p.lower.split(words[0]).length };
      })
      .sort((a, b) => b.rank - a.rank)
      .slice(0, 12);
  }

  function show(page, word) {
    const at = Math.max(0, page.text.toLowerCase().indexOf(word));
    const item = document.createElement("li");
    const link = item.appendChild(document.createElement("a"));
    link.href = root + page.url;
    link.textContent = page.title;
    const text = item.appendChild(document.createElement("small"));
    text.textContent = "…" + page.text.slice(Math.max(0, at - 30), at + 60) + "…";
    return item;
  }

  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter((w) => w.length > 1);
    list.hidden = words.length === 0;
    list.replaceChildren(...(words.length ? find(words).map((p) => show(p, words[0])) : []));
    if (words.length && !list.children.length) list.append("Nothing has all of these words.");
  });
})();
