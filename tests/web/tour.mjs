// The tour itself: `tour.mjs PLAN`, started by run.py.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { default: puppeteer } = await import(plan.puppeteer);
const axe = readFileSync(plan.axe, "utf8");
const origin = new URL(plan.link).origin;
const PAGE_BYTES_MAX = 60_000;
const SHIFT_MAX = 0.02;
const ELEMENTS_MAX = 1_800;
// Median time that each of these pages may take, in milliseconds.
const MEDIAN_MAX = 20;
const QUICK = ["overview", "memories", "deep", "memory", "projects"];
// Each decision takes the pair away, and a merge those of the memory that it replaces.
const PAIRS_MIN = 6;
const SIZES = { phone: [320, 640], desk: [1280, 860], wall: [3840, 2160] };

const faults = [];
const counts = { pages: 0, axe: 0, strangers: 0, elements: 0 };
const fault = (words) => { faults.push(words); console.log("FAILED:", words); };

const browser = await puppeteer.launch({
  executablePath: plan.chromium, userDataDir: plan.profile, headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb"],
});

// A tab that notes what it loads and what goes wrong.
async function tab({ script = true, dark = false, size = "desk" } = {}) {
  const page = await browser.newPage();
  const [width, height] = SIZES[size];
  await page.setViewport({ width, height });
  await page.setJavaScriptEnabled(script);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith("data:")) {
      counts.strangers += 1;
      fault(`a request to ${request.url()}`);
    }
  });
  page.on("pageerror", (error) => fault(`${page.url()}: ${error.message}`));
  page.on("console", (message) => { if (message.type() === "error") fault(`${message.location()?.url ?? page.url()}: ${message.text()}`); });
  page.on("dialog", (dialog) => { fault(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
  return page;
}

async function open(page, path) {
  const answer = await page.goto(origin + path, { waitUntil: path === "/live" ? "domcontentloaded" : "load" });
  if (answer.status() !== 200) fault(`${path}: status ${answer.status()}`);
  const bytes = Buffer.byteLength(await answer.text());
  if (bytes > PAGE_BYTES_MAX) fault(`${path}: ${bytes} bytes`);
  return bytes;
}

async function look(page, path, name, checks = async () => {}) {
  const bytes = await open(page, path);
  counts.pages += 1;
  // Before the picture: to take it, the browser changes the size of the window.
  await checks();
  if (plan.keep) {
    mkdirSync(plan.keep, { recursive: true });
    await page.screenshot({ path: join(plan.keep, `${name}.png`), fullPage: !name.includes("wall") });
  }
  return bytes;
}

async function measured(page, path, name) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wide > 0) fault(`${path} ${name}: ${wide} px too wide`);
  const shift = await page.evaluate(() => new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) sum += entry.value; })
      .observe({ type: "layout-shift", buffered: true });
    setTimeout(() => done(sum), 150);
  }));
  if (shift > SHIFT_MAX) fault(`${path} ${name}: the layout shifts by ${shift}`);
  const elements = await page.evaluate(() => document.querySelectorAll("*").length);
  counts.elements = Math.max(counts.elements, elements);
  if (elements > ELEMENTS_MAX) fault(`${path} ${name}: ${elements} elements`);
}

// By the browser's own protocol, past the page's policy: axe is ours, not the page's.
async function accessible(page, path, name) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  }));
  for (const one of found.violations) {
    counts.axe += one.nodes.length;
    fault(`${path} ${name}: axe: ${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | ")}`);
  }
}

const enter = await tab();
await enter.goto(plan.link);
if (enter.url() !== origin + "/") fault(`the link leads to ${enter.url()}`);

const memory = `/memories/${plan.subject}`;
await open(enter, "/sessions");
const first = (list = ".item") => enter.$eval(`${list} a`, (link) => new URL(link.href).pathname);
const session = await first();
await open(enter, "/work");
const work = await first();
await open(enter, "/history");
const past = await first();
await open(enter, past);
const exchange = await first(".story");
await open(enter, "/documents");
const document_ = await first();
await open(enter, "/tidy");
const cycle = await first();
await open(enter, "/pairs?which=twins");
const merge = await enter.$eval('a[href^="/pairs/merge"]', (link) => new URL(link.href).pathname + new URL(link.href).search)
  .catch(() => null);
// The worker of a very large home is not waited for: it may have found fewer than are decided below.
const hasPairs = (await enter.$$(".pair")).length >= PAIRS_MIN;
if (!hasPairs && !plan.paused) fault("there are too few duplicates to decide");
const paths = {
  overview: "/", health: "/health", memories: "/memories", search: "/memories?q=why%20do%20we%20retry%20payments",
  deleted: "/memories?deleted=1", deep: `/memories?from=${plan.memories - 100}`, memory, revisions: `${memory}/history`,
  filtered: "/memories?tags=retry&since=7d&agent=claude-code", archive: "/memories?archived=1", edit: `${memory}/edit`,
  graph: `/graph/${plan.subject}`, sessions: "/sessions", session, history: "/history", past, exchange,
  recalled: "/history?q=retry%20payments", works: "/work", work, live: "/live", conflicts: "/pairs",
  duplicates: "/pairs?which=twins", distilled: "/inbox", tidy: "/tidy", plan: cycle, documents: "/documents", document: document_,
  forget: `${document_}/forget`, join: merge ?? "/pairs", graphproject: "/graph/project?project=acme%2Fpayments",
  graphname: "/graph/entity?name=src%2Fpayments%2Fretry.rs&project=acme%2Fpayments", projects: "/projects",
  merge: "/projects/merge?from=acme%2Fpayments&into=acme%2Fwebsite",
};

await open(enter, paths.graph);
if ((await enter.$$(".graph path")).length === 0 && !plan.paused) fault("no relations are drawn");

let largest = 0;
for (const size of Object.keys(SIZES)) {
  for (const dark of [false, true]) {
    const page = await tab({ size, dark });
    for (const [name, path] of Object.entries(paths)) {
      const called = `${name}-${size}${dark ? "-dark" : ""}`;
      const bytes = await look(page, path, called, async () => {
        await measured(page, path, called);
        await accessible(page, path, called);
      });
      largest = Math.max(largest, bytes);
    }
    await page.close();
  }
}
const locked = await (await browser.createBrowserContext()).newPage();
const refused = await locked.goto(origin + "/");
if (refused.status() !== 403) fault("another browser is let in");
await accessible(locked, "/", "locked");

// Without scripts: every page, and the main job by forms alone.
const plain = await tab({ script: false });
for (const [name, path] of Object.entries(paths)) await look(plain, path, `${name}-plain`);
await open(plain, "/memories");
await plain.type("#q", "retried twice");
await Promise.all([plain.waitForNavigation(), plain.keyboard.press("Enter")]);
if (!plain.url().includes("q=retried")) fault(`a search without scripts leads to ${plain.url()}`);
async function press(page, path, words, want) {
  await open(page, path);
  for (let steps = 0; steps < 200; steps += 1) {
    await page.keyboard.press("Tab");
    if ((await focused(page)) === words) {
      await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
      if (!(await page.content()).includes(want)) fault(`${words}: the page does not say ${want}`);
      return;
    }
  }
  fault(`${path}: the keyboard does not reach ${words}`);
}
// What has the focus, also where the page runs no scripts.
async function focused(page) {
  const { nodes } = await page._client().send("Accessibility.getFullAXTree");
  const node = nodes.find((one) => one.properties?.some((p) => p.name === "focused" && p.value.value) && one.role?.value !== "RootWebArea");
  return node?.name?.value;
}
await press(plain, memory, "Pin", "is pinned");
await press(plain, memory, "Unpin", "no longer pinned");
await press(plain, memory, "Delete", "can be restored");
await press(plain, memory, "Restore", "is restored");
await press(plain, memory, "Archive", "is archived");
await press(plain, memory, "Take out of the archive", "out of the archive");
await press(plain, `${memory}/edit`, "Save", "Nothing was changed");
// The worker of a very large home is paused when the tour begins, and stays so.
const turns = ["Pause the worker", "Resume the worker"];
for (const turn of plan.paused ? turns.reverse() : turns) await press(plain, "/health", turn, "The worker is notified");
if (hasPairs) {
  const pairs = paths.duplicates;
  await press(plain, pairs, "Keep both of pair 1", "Both stay valid");
  await press(plain, pairs, "Merge pair 1", "Merge two memories");
  await press(plain, plain.url().slice(origin.length), "Merge", "has the text of both");
  await press(plain, pairs, "This one holds – the first of pair 1", "supersedes");
}
await press(plain, "/tidy", "Make a plan", "plan");
// In a large home it is made in the background.
for (let looks = 0; looks < 90 && !(await plain.content()).includes(">planned<"); looks += 1) {
  await new Promise((done) => setTimeout(done, 1000));
  await open(plain, "/tidy");
}
if (!(await plain.content()).includes(">planned<")) fault("no plan is made");

// With scripts: results come while one types, calls come by themselves.
const lively = await tab();
await open(lively, "/memories");
await lively.type("#q", "payments are retried");
await lively.waitForFunction(() => document.querySelector("#said .tag")?.textContent.startsWith("match:"), { timeout: 10_000 })
  .catch(() => fault("nothing is found while one types"));
await lively.evaluate(() => { window.fetch = () => Promise.reject(new TypeError("the daemon is gone")); });
await lively.type("#q", " twice");
await lively.waitForFunction(() => document.getElementById("said").textContent.includes("does not answer"), { timeout: 10_000 })
  .catch(() => fault("a search that got no answer shows the earlier hits as its own"));
await open(lively, "/live");
await lively.waitForFunction(() => document.getElementById("following").textContent.startsWith("New ones"), { timeout: 10_000 })
  .catch(() => fault("the stream of calls does not begin"));

// How long the first page takes, as the browser's network sees it.
const cookie = (await enter.cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
async function median(path) {
  const took = [];
  for (let n = 0; n < plan.loads; n += 1) {
    const begun = performance.now();
    const answer = await fetch(origin + path, { headers: { cookie } });
    await answer.text();
    took.push(performance.now() - begun);
  }
  took.sort((a, b) => a - b);
  return [took[Math.floor(took.length / 2)], took[Math.floor(took.length * 0.99)]].map((ms) => ms.toFixed(1));
}
for (const name of ["overview", "memories", "deep", "search", "memory", "graph", "projects", "duplicates"]) {
  const [half, most] = await median(paths[name]);
  console.log(`${name.padEnd(12)} p50 ${half.padStart(7)} ms   p99 ${most.padStart(7)} ms`);
  if (QUICK.includes(name) && Number(half) > MEDIAN_MAX) fault(`${name}: p50 ${half} ms, more than ${MEDIAN_MAX} ms`);
}

if (plan.pictures) {
  const page = await tab();
  await page.setViewport({ width: 1180, height: 800 });
  for (const name of ["overview", "memory", "graph", "duplicates"]) {
    await open(page, paths[name]);
    // Without the strip that is kept free for a scroll bar, which is hidden here.
    const width = await page.evaluate(() => document.documentElement.clientWidth);
    await page.screenshot({ path: join(plan.pictures, `web-${name}.png`), clip: { x: 0, y: 0, width, height: 800 } });
  }
}
await browser.close();
console.log(`${counts.pages} pages, largest ${largest} bytes, most elements ${counts.elements}; axe: ${counts.axe} findings; other hosts: ${counts.strangers} requests`);
process.exit(faults.length ? 1 : 0);
