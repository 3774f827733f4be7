"use strict";
// Adds to a page that is whole without it: a copy button for each command, a filter for each long table.
(function () {
  const said = document.getElementById("said");
  const say = function (text) { said.textContent = text; };

  const copied = function (text) {
    if (navigator.clipboard && window.isSecureContext) { return navigator.clipboard.writeText(text); }
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done ? Promise.resolve() : Promise.reject(new Error("refused"));
  };
  document.querySelectorAll("pre.copy").forEach(function (block) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    const word = document.createTextNode("Copy");
    const what = document.createElement("span");
    what.className = "said";
    what.textContent = " " + block.textContent.trim().slice(0, 80);
    button.append(word, what);
    button.addEventListener("click", function () {
      copied(block.textContent.trim()).then(
        function () { word.data = "Copied"; say("Copied to the clipboard."); },
        function () { word.data = "Select and copy"; say("The browser did not allow it."); });
      setTimeout(function () { word.data = "Copy"; }, 2000);
    });
    block.parentNode.append(button);
  });

  document.querySelectorAll("table.filtered").forEach(function (table, number) {
    const rows = Array.from(table.tBodies[0].rows);
    const texts = rows.map(function (row) { return row.textContent.toLowerCase(); });
    const label = document.createElement("label");
    label.className = "filter";
    label.textContent = "Search " + table.caption.textContent.trim().toLowerCase() + " ";
    const field = document.createElement("input");
    field.type = "search";
    field.id = "filter" + number;
    field.autocomplete = "off";
    const count = document.createElement("span");
    count.className = "count";
    label.append(field, count);
    const shown = function () {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      rows.forEach(function (row, index) {
        const fits = words.every(function (word) { return texts[index].includes(word); });
        row.hidden = !fits;
        left += fits;
      });
      count.textContent = left + " of " + rows.length;
      if (words.length) { say(left + " of " + rows.length + " rows"); }
    };
    field.addEventListener("input", shown);
    field.addEventListener("keydown", function (event) {
      if (event.key === "Escape") { field.value = ""; shown(); }
    });
    shown();
    table.parentNode.before(label);
  });

  // What is folded is printed, too.
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details:not([open])").forEach(function (one) { one.open = true; one.dataset.folded = "1"; });
  });
  window.addEventListener("afterprint", function () {
    document.querySelectorAll("details[data-folded]").forEach(function (one) { one.open = false; delete one.dataset.folded; });
  });

  // A link to something inside a folded part opens it.
  const opened = function () {
    const aim = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = aim; at; at = at.parentElement) { if (at.tagName === "DETAILS") { at.open = true; } }
  };
  window.addEventListener("hashchange", opened);
  opened();
})();
