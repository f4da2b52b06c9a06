"use strict";
// The page is drawn by the server. This script sends what is done to it, and takes over what has changed.
const EVERY = 600;
const page = document.getElementById("page");
const messages = document.getElementById("messages");
const version = () => document.getElementById("view").dataset.version;

function show(lines) {
  messages.replaceChildren();
  if (!lines.length) return;
  const close = document.createElement("button");
  close.textContent = "Close";
  close.addEventListener("click", () => messages.replaceChildren());
  messages.append(close);
  for (const line of lines) {
    const text = document.createElement("p");
    text.textContent = line;
    messages.append(text);
  }
}

// Makes the old node like the new one, and leaves alone what a person has opened, typed or focused.
function morph(old, fresh) {
  if (old.nodeType !== 1) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  const keeps = old.tagName === "DETAILS" ? ["open"] : [];
  for (const { name } of [...old.attributes])
    if (!fresh.hasAttribute(name) && !keeps.includes(name)) {
      old.removeAttribute(name);
      if (name === "checked" || name === "selected") old[name] = false;
    }
  for (const { name, value } of [...fresh.attributes]) {
    if (keeps.includes(name) || old.getAttribute(name) === value) continue;
    old.setAttribute(name, value);
    if (name === "checked" || name === "selected") old[name] = true;
    if (name === "value" && "value" in old && old !== document.activeElement) old.value = value;
  }
  if (old.tagName === "TEXTAREA") {
    if (old.defaultValue !== fresh.defaultValue) old.value = old.defaultValue = fresh.defaultValue;
    return;
  }
  const before = [...old.childNodes], after = [...fresh.childNodes];
  after.forEach((node, i) => {
    const at = before[i];
    if (!at) old.append(node);
    else if (at.nodeName !== node.nodeName || (at.id ?? "") !== (node.id ?? "")) at.replaceWith(node);
    else morph(at, node);
  });
  before.slice(after.length).forEach((node) => node.remove());
  if (old.tagName === "SELECT" && old !== document.activeElement) {
    const chosen = old.querySelector("option[selected]");
    if (chosen) old.value = chosen.value;
  }
}

let asking = false, again = false;
async function refresh() {
  if (asking) { again = true; return; }
  asking = true;
  try {
    const answer = await fetch(`/view/${page.dataset.step}${location.search}`, { headers: { "X-Version": version() } });
    if (answer.status === 200) {
      const fresh = document.createElement("template");
      fresh.innerHTML = await answer.text();
      morph(document.getElementById("view"), fresh.content.querySelector("#view"));
    }
    document.body.classList.remove("lost");
  } catch {
    if (!document.body.classList.contains("lost")) show(["The workbench does not answer. Is it still running in its terminal?"]);
    document.body.classList.add("lost");
  }
  asking = false;
  if (again) { again = false; await refresh(); }
}

async function act(action, values, quiet = false) {
  const answer = await fetch(`/act/${page.dataset.step}/${action}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(values),
  });
  const said = await answer.json().catch(() => ({ lines: ["The workbench could not do this; please report it."] }));
  if (said.html !== undefined) document.getElementById(said.target).innerHTML = said.html;
  if (quiet) return;
  show(said.lines ?? []);
  if (said.go) location.assign(said.go);
  else await refresh();
}

function values(form) {
  const found = {};
  for (const field of form.elements) {
    if (!field.name || (field.type === "radio" && !field.checked)) continue;
    if (field.type === "checkbox" && field.hasAttribute("value")) {
      found[field.name] ??= [];
      if (field.checked) found[field.name].push(field.value);
    } else found[field.name] = field.type === "checkbox" ? field.checked : field.value;
  }
  if (form.dataset.key) found.key = form.dataset.key;
  return found;
}

page.addEventListener("submit", (event) => {
  event.preventDefault();
  act(event.target.dataset.act, values(event.target));
});
page.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-act]");
  if (!button) return;
  const { act: action, ...given } = button.dataset;
  act(action, given);
});
page.addEventListener("change", (event) => {
  const field = event.target;
  if (field.dataset.pick) { send(field.dataset.pick, [...field.files].map((file) => [file.webkitRelativePath || file.name, file])); field.value = ""; }
  if (!field.dataset.act) return;
  const given = { value: field.type === "checkbox" ? field.checked : field.value };
  if (field.dataset.key) given.key = field.dataset.key;
  act(field.dataset.act, given);
});
let waiting;
page.addEventListener("input", (event) => {
  const field = event.target, form = field.form;
  if (field.dataset.pair) document.getElementById(field.dataset.pair).value = field.value;
  if (!form?.dataset.live) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => act(form.dataset.live, values(form), true), 150);
});

async function send(kind, files) {
  const folder = kind === "release" ? `${Date.now()}/` : "";
  let path = "";
  for (const [name, file] of files) {
    const place = (folder + name).split("/").map(encodeURIComponent).join("/");
    const answer = await fetch(`/upload/${place}?kind=${kind}`, { method: "PUT", body: file });
    const said = await answer.json();
    if (!answer.ok) { show(said.lines); return; }
    path = said.path;
  }
  if (kind === "data") await act("choose", { path });
  else if (kind === "hierarchy") {
    document.querySelector("#builder [name=kind]").value = "file";
    const settings = document.querySelector("#builder [name=parameter]");
    settings.value = path;
    settings.dispatchEvent(new Event("input", { bubbles: true }));
  }
  else await act("verify", { release: path.slice(0, path.indexOf(folder) + folder.length) + files[0][0].split("/")[0] });
}

async function collect(entry, prefix = "") {
  if (entry.isFile) return [[prefix + entry.name, await new Promise((done, fail) => entry.file(done, fail))]];
  const reader = entry.createReader(), found = [];
  for (;;) {
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!some.length) return found;
    for (const each of some) found.push(...await collect(each, `${prefix}${entry.name}/`));
  }
}
page.addEventListener("dragover", (event) => {
  const zone = event.target.closest("[data-drop]");
  if (zone) { event.preventDefault(); zone.classList.add("over"); }
});
page.addEventListener("dragleave", (event) => event.target.closest("[data-drop]")?.classList.remove("over"));
page.addEventListener("drop", async (event) => {
  const zone = event.target.closest("[data-drop]");
  if (!zone) return;
  event.preventDefault();
  zone.classList.remove("over");
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
  const files = (await Promise.all(entries.map((entry) => collect(entry)))).flat();
  if (files.length) await send(zone.dataset.drop, files);
});

setInterval(() => { if (!document.hidden) refresh(); }, EVERY);
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
