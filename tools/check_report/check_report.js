#!/usr/bin/env node
// Opens reports of `shardplan plan --report` and `shardplan serve --report` in a browser, as people do: light and dark, on a desk and on a phone,
// on paper. Each must load without an error and without the network, in under a second, fit its screen, have no
// violation that axe-core finds, and open a formula from the keyboard.
//
//   tools/check_report/check_report.js PROGRAM FOLDER
//
// FOLDER holds node_modules (npm ci, from the lock file here) and gets the reports, screenshots and PDFs. It needs
// chromium from the distribution; CHROMIUM names another one.
"use strict";
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { createRequire } = require("node:module");
const { pathToFileURL } = require("node:url");

const [program, folder] = process.argv.slice(2).map((name) => path.resolve(name));
const installed = createRequire(path.join(folder, "here"));
const { chromium } = installed("playwright-core");
const axe = fs.readFileSync(installed.resolve("axe-core/axe.min.js"), "utf8");

const LARGEST_BYTES = 2e6, LONGEST_LOAD_MS = 1000, LOADS = 3;
const SERVED = ["serve", "--preset", "llama3-70b", "--gpu", "h100-sxm", "--gpus", "16", "--seq", "8192", "--batch", "16"];
const CASES = {
  served: [...SERVED, "--tpot-ms", "30"],
  not_served: [...SERVED, "--tp", "1", "--pp", "1"],
  small: ["plan", "--preset", "llama3-8b", "--gpu", "h100-sxm", "--gpus", "8:32:8", "--pareto", "--tokens", "15T", "--price", "2.5"],
  pipeline: ["plan", "--model", "examples/llama-3.1-70b/config.json", "--gpu", "h100-sxm", "--gpus", "64"],
  large: ["plan", "--preset", "llama3-405b", "--gpu", "h100-sxm", "--gpus", "16384", "--seq", "8192", "--fix", "tp=8,pp=16"],
  deep: ["plan", "--preset", "llama3-405b", "--gpu", "h100-sxm", "--gpus", "16128", "--seq", "8192", "--fix", "tp=8,pp=126"],
  nothing_fits: ["plan", "--preset", "llama3-405b", "--gpu", "h100-sxm", "--gpus", "8"],
};
const NO = new Set(["nothing_fits", "not_served"]);
const DESK = { width: 1280, height: 900 }, PHONE = { width: 390, height: 844 };
const VIEWS = {
  light: { viewport: DESK, colorScheme: "light" },
  dark: { viewport: DESK, colorScheme: "dark" },
  phone: { viewport: PHONE, colorScheme: "light", deviceScaleFactor: 2, hasTouch: true, isMobile: true },
  phone_dark: { viewport: PHONE, colorScheme: "dark", deviceScaleFactor: 2, hasTouch: true, isMobile: true },
};

const failures = [];
const check = (good, what) => good || failures.push(what);

function write_report(name) {
  const file = path.join(folder, `${name}.html`);
  const done = spawnSync(program, [...CASES[name], "--report", file], { encoding: "utf8" });
  const expected = NO.has(name) ? 1 : 0;
  check(done.status === expected, `${name}: exit status ${done.status}, not ${expected}: ${done.stderr}`);
  const bytes = fs.statSync(file).size;
  check(bytes < LARGEST_BYTES, `${name}: ${bytes} bytes, not under ${LARGEST_BYTES}`);
  return { file, bytes };
}

function watch(page, where) {
  page.on("console", (message) => check(message.type() !== "error", `${where}: console: ${message.text()}`));
  page.on("pageerror", (error) => check(false, `${where}: ${error}`));
  page.on("request", (request) => check(request.url().startsWith("file:"), `${where}: asks for ${request.url()}`));
}

async function check_rules(page, where) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  for (const v of found.violations)
    check(false, `${where}: ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | ")}`);
}

async function check_formula(page, where, picture) {
  const opener = page.locator("button.value").first();
  await opener.focus();
  await page.keyboard.press("Enter");
  const card = page.locator(":popover-open");
  check((await card.count()) === 1, `${where}: no formula opens from the keyboard`);
  const box = await card.boundingBox();
  check(box !== null && box.x >= 0 && box.x + box.width <= page.viewportSize().width, `${where}: a formula leaves the screen`);
  await check_rules(page, `${where}, formula`);
  await page.screenshot({ path: picture });
  await page.keyboard.press("Escape");
  check((await card.count()) === 0, `${where}: Escape does not close a formula`);
}

async function check_width(page, where) {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  check(over <= 0, `${where}: ${over} pixels wider than its place`);
}

/// Drawings follow the reader's setting, their text can be read on their ground, and points on it too.
async function check_drawings(page, where, dark) {
  const colours = await page.evaluate(() =>
    [...document.querySelectorAll(".curves, .timeline")].map((svg) => {
      const fill = (of) => getComputedStyle(svg.querySelector(of) ?? svg).fill;
      return { ground: fill(".ground"), ink: fill("text"), points: [...svg.querySelectorAll("circle[class^=point]")].map((p) => getComputedStyle(p).fill) };
    }));
  const light = (rgb) => rgb.match(/[\d.]+/g).slice(0, 3).reduce((sum, part, i) => sum + Number(part) * [0.2126, 0.7152, 0.0722][i], 0) / 255;
  for (const c of colours) {
    check(light(c.ground) < 0.5 === dark, `${where}: a drawing on ${c.ground}`);
    check(Math.abs(light(c.ground) - light(c.ink)) > 0.5, `${where}: text in ${c.ink} on ${c.ground}`);
    for (const point of new Set(c.points))
      check(Math.abs(light(c.ground) - light(point)) > 0.2, `${where}: a point in ${point} on ${c.ground}`);
  }
}

/// The shortest of a few, as other programs may keep the machine busy.
async function load_ms(page, file) {
  let least = Infinity;
  for (let i = 0; i < LOADS; ++i) {
    await page.goto(pathToFileURL(file).href);
    least = Math.min(least, await page.evaluate(() => performance.getEntriesByType("navigation")[0].loadEventEnd));
  }
  return least;
}

async function check_view(browser, name, file, view) {
  const where = `${name}, ${view}`;
  // The page lets no script in; the rules are one.
  const context = await browser.newContext({ ...VIEWS[view], bypassCSP: true });
  const page = await context.newPage();
  watch(page, where);
  const ms = await load_ms(page, file);
  check(ms < LONGEST_LOAD_MS, `${where}: loads in ${ms.toFixed(0)} ms, not under ${LONGEST_LOAD_MS}`);
  await check_width(page, where);
  await check_drawings(page, where, VIEWS[view].colorScheme === "dark");
  await page.screenshot({ path: path.join(folder, `${name}-${view}.png`), fullPage: true });
  await check_rules(page, where);
  await check_formula(page, where, path.join(folder, `${name}-${view}-formula.png`));
  await context.close();
  return ms;
}

async function check_print(browser, name, file) {
  const context = await browser.newContext({ colorScheme: "dark", viewport: { width: 794, height: 1123 } });
  const page = await context.newPage();
  watch(page, `${name}, print`);
  await page.goto(pathToFileURL(file).href);
  await page.emulateMedia({ media: "print" });
  await check_width(page, `${name}, print`);
  const cards = page.locator(".card");
  if ((await cards.count()) > 0) check(await cards.last().isVisible(), `${name}, print: formulas are not printed`);
  const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  check(ground === "rgb(255, 255, 255)", `${name}, print: on ${ground}, not on white`);
  await page.screenshot({ path: path.join(folder, `${name}-print.png`), fullPage: true });
  await page.pdf({ path: path.join(folder, `${name}.pdf`), format: "A4" });
  await context.close();
}

async function main() {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  for (const name of Object.keys(CASES)) {
    const { file, bytes } = write_report(name);
    const times = [];
    for (const view of Object.keys(VIEWS)) times.push(await check_view(browser, name, file, view));
    await check_print(browser, name, file);
    console.log(`${name}: ${(bytes / 1e3).toFixed(0)} kB, loads in ${Math.max(...times).toFixed(0)} ms at most`);
  }
  await browser.close();
  for (const failure of failures) console.error(`check_report: ${failure}`);
  process.exit(failures.length > 0 ? 1 : 0);
}

main();
