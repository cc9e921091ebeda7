// Saves steps on pages that work without it: search while typing, and calls as they happen.
"use strict";

// How long nobody types before a search begins, in milliseconds.
const PAUSE = 250;

// Shows what a form finds while it is filled in. An answer that comes after a later question is dropped.
function searchWhileTyping(form) {
  const shown = document.getElementById(form.dataset.live);
  let timer, asking;
  const search = async () => {
    asking?.abort();
    asking = new AbortController();
    const given = [...new FormData(form)].filter(([, value]) => value !== "");
    const address = form.action + (given.length ? "?" + new URLSearchParams(given) : "");
    try {
      const answer = await fetch(address, { signal: asking.signal });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const found = page.getElementById(shown.id);
      if (!found) return;
      shown.replaceChildren(...found.childNodes);
      history.replaceState(null, "", address);
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, PAUSE);
  });
}

// Puts each call on top of the table as soon as it is answered, and says when that ends.
function follow(calls) {
  const stream = new EventSource(calls.dataset.stream);
  const said = document.getElementById("following");
  const again = said.innerHTML;
  stream.onopen = () => {
    said.textContent = "New ones appear by themselves.";
    said.classList.remove("lost");
  };
  stream.onerror = () => {
    said.innerHTML = `The stream is lost${stream.readyState === EventSource.CLOSED ? "." : "; it is tried again."} ${again}`;
    said.classList.add("lost");
  };
  stream.onmessage = (event) => {
    const line = document.createElement("template");
    line.innerHTML = event.data;
    calls.prepend(line.content);
    document.getElementById("no-calls")?.remove();
    while (calls.rows.length > Number(calls.dataset.most)) calls.deleteRow(-1);
  };
}

for (const form of document.querySelectorAll("form[data-live]")) searchWhileTyping(form);
const calls = document.querySelector("[data-stream]");
if (calls) follow(calls);
