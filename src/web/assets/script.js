// Pages work without this script. It adds search while typing, live calls, and reloading while something is under way.
"use strict";

// The pause in typing after which a search begins, in milliseconds.
const PAUSE = 250;
// How often a page checks whether what it waits for is ready, in milliseconds.
const AGAIN = 2000;

// Shows the results of a form while it is filled in. Answers to earlier requests are dropped.
function searchWhileTyping(form) {
  const shown = form.dataset.live.split(" ").map((id) => document.getElementById(id));
  let timer, asking;
  const search = async () => {
    asking?.abort();
    asking = new AbortController();
    const given = [...new FormData(form)].filter(([, value]) => value !== "");
    const address = form.action + (given.length ? "?" + new URLSearchParams(given) : "");
    try {
      const answer = await fetch(address, { signal: asking.signal });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (!answer.ok) {
        // The results stay; what is wrong with the form stands above them.
        const problem = page.querySelector("main p");
        if (problem) shown[0].textContent = problem.textContent;
        return;
      }
      const found = shown.map((part) => page.getElementById(part.id));
      if (found.includes(null)) return;
      shown.forEach((part, n) => part.replaceChildren(...found[n].childNodes));
      history.replaceState(null, "", address);
    } catch (error) {
      if (error.name === "AbortError") return;
      // Otherwise the hits of the last search would seem to be those of these words.
      shown[0].textContent = "The page does not answer: these are the hits of an earlier search. If cerebro web was closed, run it again.";
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, PAUSE);
  });
}

// Adds each answered call at the top of the table, and says when the stream is lost.
function follow(calls) {
  const stream = new EventSource(calls.dataset.stream);
  const said = document.getElementById("following");
  const again = said.innerHTML;
  stream.onopen = () => {
    said.textContent = "New ones appear by themselves.";
    said.classList.remove("lost");
  };
  stream.onerror = () => {
    said.innerHTML = `The stream is lost${stream.readyState === EventSource.CLOSED ? "." : "; the page reconnects."} ${again}`;
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

// Reloads the page when it no longer waits for something.
function lookAgain() {
  const timer = setInterval(async () => {
    try {
      const answer = await fetch(location.href);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (answer.ok && !page.querySelector("[data-again]")) location.reload();
    } catch {
      clearInterval(timer); // The page is closed; its link reports that.
    }
  }, AGAIN);
}

for (const form of document.querySelectorAll("form[data-live]")) searchWhileTyping(form);
const calls = document.querySelector("[data-stream]");
if (calls) follow(calls);
if (document.querySelector("[data-again]")) lookAgain();
