// Local times, colours, charts, completion and keys. Every page also works without this script.
"use strict";

const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const DAY = 86400;

function localize(within) {
  for (const time of within.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const seconds = (at - Date.now()) / 1000;
    const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length) ?? units[3];
    time.textContent = time.closest("[data-clock]") ? clock.format(at)
      : Math.abs(seconds) < 7 * DAY && !time.hasAttribute("data-absolute")
        ? relative.format(Math.trunc(seconds / length), unit)
        : absolute.format(at);
    time.dataset.local = absolute.format(at);
    if (!time.title.includes("local")) time.title = `${time.title} · ${absolute.format(at)} local`;
  }
}

function themeSwitch() {
  const button = document.getElementById("theme");
  if (!button) return;
  button.hidden = false;
  const dark = () => (document.documentElement.dataset.theme
    ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    const theme = dark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem("deadwatch-theme", theme); } catch { /* lasts as long as the page */ }
    label();
    for (const table of document.querySelectorAll("table[data-chart]")) draw(table);
  });
  label();
}

// As the browser has worked it out: a canvas takes no light-dark() and no variables.
function colour(name) {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = `var(${name})`;
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

function draw(table) {
  if (typeof uPlot === "undefined") return;
  const figure = table.closest("[data-figure]");
  const place = figure.querySelector("[data-plot]");
  const still = figure.querySelector("[data-still]");
  const rows = [...table.tBodies[0].rows];
  const times = rows.map((row) => new Date(row.querySelector("time").dateTime).getTime() / 1000);
  const values = rows.map((row) => Number(row.cells[1].dataset.value));
  const half = 1800; // a bar stands in the middle of its place: half an hour more at both ends shows the outer ones whole
  const hours = { values: (_, at) => at.map((second) => clock.format(new Date(second * 1000))) };
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  place.replaceChildren();
  place.hidden = false;
  still?.toggleAttribute("hidden", true);
  new uPlot({
    width: place.clientWidth, height: 180, padding: [8, 8, 0, 0],
    cursor: { y: false, points: { show: false } },
    scales: { x: { range: (_, low, high) => [low - half, high + half] }, y: { range: (_, low, high) => [0, Math.max(1, high * 1.1)] } },
    axes: [{ ...axis, ...hours }, { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6, 1e7, 1e8] }],
    series: [{ label: "hour", value: "{MMM} {D} {HH}:{mm}" }, {
      label: table.dataset.chart, stroke: colour("--accent"), fill: colour("--accent"),
      paths: uPlot.paths.bars({ size: [0.7, 60] }), points: { show: false },
    }],
  }, [times, values], place);
  place.setAttribute("aria-hidden", "true");
}

function completion(input) {
  const list = document.getElementById(input.getAttribute("aria-controls"));
  const known = [...document.querySelectorAll("#filter-words li")].map((one) => ({
    name: one.dataset.name, help: one.textContent,
  }));
  let shown = [];
  let chosen = -1;

  const word = () => /[A-Za-z_][A-Za-z_.]*$/.exec(input.value.slice(0, input.selectionStart))?.[0] ?? "";
  const close = () => {
    list.hidden = true; shown = []; chosen = -1;
    input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant");
  };
  const mark = () => {
    [...list.children].forEach((one, number) => one.setAttribute("aria-selected", String(number === chosen)));
    if (chosen < 0) { input.removeAttribute("aria-activedescendant"); return; }
    input.setAttribute("aria-activedescendant", list.children[chosen].id);
    list.children[chosen].scrollIntoView({ block: "nearest" });
  };
  const take = (one) => {
    const end = input.selectionStart;
    const begin = end - word().split(".").at(-1).length;
    input.setRangeText(one.name, begin, end, "end");
    close(); input.focus();
    input.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const offer = () => {
    const begun = word().split(".").at(-1).toLowerCase();
    shown = begun ? known.filter((one) => one.name.toLowerCase().startsWith(begun) && one.name !== begun) : [];
    if (!shown.length) { close(); return; }
    list.replaceChildren(...shown.map((one, number) => {
      const item = document.createElement("li");
      item.id = `suggestion-${number}`;
      item.setAttribute("role", "option");
      const name = document.createElement("code");
      name.textContent = one.name;
      const help = document.createElement("span");
      help.className = "muted small";
      help.textContent = ` ${one.help}`;
      item.append(name, help);
      item.addEventListener("mousedown", (event) => { event.preventDefault(); take(one); });
      return item;
    }));
    list.hidden = false; chosen = -1;
    input.setAttribute("aria-expanded", "true");
    mark();
  };
  input.addEventListener("input", offer);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      chosen = (chosen + (event.key === "ArrowDown" ? 1 : -1) + shown.length) % shown.length;
      mark();
    } else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) {
      event.preventDefault(); take(shown[chosen]);
    } else if (event.key === "Escape") { event.stopPropagation(); close(); }
  });
}

function reveal(form) {
  for (const part of form.querySelectorAll("[data-when]")) {
    const [name, value] = part.dataset.when.split("=");
    const apply = () => { part.hidden = form.elements[name].value !== value; };
    for (const choice of form.elements[name]) choice.addEventListener("change", apply);
    apply();
  }
}

function copying(within) {
  if (!navigator.clipboard) return; // over HTTP from another machine there is none
  for (const button of within.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "Copied";
    });
  }
}

const places = { o: "/", g: "/groups", t: "/topics", r: "/redrives", k: "/tasks", f: "/findings", h: "/health" };
let leading = false;

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const help = document.getElementById("keys");
  if (leading && places[event.key]) {
    location.href = document.body.dataset.root + places[event.key];
  } else if (event.key === "/") {
    const filter = document.getElementById("filter");
    if (filter) { event.preventDefault(); filter.focus(); }
  } else if (event.key === "?" && help) {
    help.showModal();
  } else if (event.key === "j" || event.key === "k") {
    const links = [...document.querySelectorAll("[data-row]")];
    const next = links.indexOf(document.activeElement) + (event.key === "j" ? 1 : -1);
    links[Math.max(0, Math.min(links.length - 1, next))]?.focus();
  }
  leading = event.key === "g" && !leading;
}

function live() {
  // A server-sent event says that something has changed; the page then loads its parts again, at most once a second.
  const source = document.body.dataset.live;
  if (!source || !document.querySelector("[hx-trigger*='live']")) return;
  let due = null;
  const changed = () => { due ??= setTimeout(() => { due = null; renew(); }, 1000); };
  let stream = null;
  // A browser has few connections to one host: a page that nobody sees keeps none.
  const follow = () => {
    if (document.hidden) { stream?.close(); return; }
    if (stream && stream.readyState !== EventSource.CLOSED) return;
    stream = new EventSource(source);
    for (const name of ["overview", "groups", "redrives"]) stream.addEventListener(name, changed);
  };
  follow();
  document.addEventListener("visibilitychange", follow);
  // After an answer that is an error the browser does not connect again.
  document.addEventListener("answers", follow);
}

function renew() {
  htmx.trigger(document.body, "live");
}

const PULSE_MS = 2000; // With its timeout it says within 5 s that the service does not answer.
const ANSWER_MS = 2500;
const RETRY_MS = 3000;

function pulse(stale) {
  // Also a page without parts asks whether the service answers, so that no form is sent to nobody and lost.
  const address = document.querySelector("script[src*='/console.js']").src;
  const unsent = document.getElementById("unsent");
  let away = false;
  const ask = async () => {
    if (!document.hidden) {
      const before = away;
      try {
        const asked = { method: "HEAD", cache: "no-store", signal: AbortSignal.timeout(ANSWER_MS) };
        away = !(await fetch(address, asked)).ok; // a proxy answers in the place of a service that does not
      } catch { away = true; }
      if (away) stale.hidden = false;
      else if (before) {
        unsent.hidden = true;
        document.dispatchEvent(new Event("answers"));
        if (document.querySelector("[hx-trigger*='live']")) renew(); else stale.hidden = true;
      }
    }
    setTimeout(ask, PULSE_MS);
  };
  setTimeout(ask, PULSE_MS);
  document.addEventListener("submit", (event) => {
    if (!away || event.target.method === "dialog") return;
    event.preventDefault();
    unsent.hidden = false;
  });
}

function following() {
  // Which buttons are enabled follows the newest status; the buttons themselves are never replaced.
  const status = document.querySelector("[data-status]")?.dataset.status;
  if (!status) return;
  for (const button of document.querySelectorAll("[data-while]")) {
    button.disabled = !button.dataset.while.split(" ").includes(status);
  }
}

function showCurrentPage() {
  // On a phone the navigation is a strip: scroll it to the entry of this page.
  const here = document.querySelector(".nav [aria-current]");
  const strip = here?.closest(".nav");
  if (strip) strip.scrollLeft = here.offsetLeft - (strip.clientWidth - here.offsetWidth) / 2;
}

document.addEventListener("DOMContentLoaded", () => {
  showCurrentPage();
  localize(document);
  themeSwitch();
  copying(document);
  for (const table of document.querySelectorAll("table[data-chart]")) draw(table);
  for (const input of document.querySelectorAll("[role=combobox]")) completion(input);
  for (const form of document.querySelectorAll("form[data-reveal]")) reveal(form);
  document.addEventListener("keydown", keys);
  live();
  setInterval(() => localize(document), 15000);
  // No part is loaded again while the page is hidden, or while somebody selects text in it.
  document.body.addEventListener("htmx:beforeRequest", (event) => {
    const selected = getSelection();
    const marking = selected && !selected.isCollapsed && event.target.contains(selected.anchorNode);
    if (event.detail.requestConfig.triggeringEvent?.type !== "input" && (document.hidden || marking)) event.preventDefault();
  });
  // What is being pressed is not replaced: the answer is dropped, and the part is loaded once more a second later.
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    if (!event.target.matches(":active")) return;
    event.detail.shouldSwap = false;
    setTimeout(renew, 1000);
  });
  // If a part cannot be loaded, the page says so and keeps what it shows.
  const stale = document.getElementById("stale");
  let retry = null;
  const failed = (event) => {
    if (event.target.matches("[data-optional]")) return;
    stale.hidden = false;
    retry ??= setTimeout(() => { retry = null; renew(); }, RETRY_MS);
  };
  document.body.addEventListener("htmx:sendError", failed);
  document.body.addEventListener("htmx:timeout", failed);
  pulse(stale);
  // 401: the session has ended. Reload once, which leads to the sign-in: a second reload would cancel the first.
  let leaving = false;
  document.body.addEventListener("htmx:responseError", (event) => {
    if (event.detail.xhr.status !== 401) failed(event);
    else if (!leaving) { leaving = true; location.reload(); }
  });
  document.body.addEventListener("htmx:afterSwap", (event) => {
    if (!event.target.matches("[data-optional]")) stale.hidden = true;
    following();
    localize(event.detail.elt.ownerDocument);
    copying(event.detail.elt);
  });
});
