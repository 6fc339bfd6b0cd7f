// Print what Lighthouse says of each page, as lines of JSON; one browser for all.
import { launch } from "chrome-launcher";
import lighthouse from "lighthouse";

const chrome = await launch({
  chromePath: process.env.CHROMIUM,
  chromeFlags: ["--headless=new", "--no-sandbox", "--disable-background-networking"],
});
for (const url of process.argv.slice(2)) {
  const { lhr } = await lighthouse(url, { port: chrome.port, logLevel: "error" });
  const failed = Object.values(lhr.audits)
    .filter(({ score }) => score !== null && score < 1)
    .map(({ id, score, displayValue, details }) => ({
      id, score, displayValue, items: details?.items?.slice(0, 5),
    }));
  const scores = Object.fromEntries(
    Object.entries(lhr.categories).map(([name, { score }]) => [name, Math.round(score * 100)]),
  );
  const paint = lhr.audits["first-contentful-paint"].numericValue;
  const metrics = Object.fromEntries(["first-contentful-paint","largest-contentful-paint","total-blocking-time","speed-index","cumulative-layout-shift","total-byte-weight"].map((m) => [m, Math.round(lhr.audits[m].numericValue*1000)/1000]));
  console.log(JSON.stringify({ url, scores, paint, metrics, failed }));
}
await chrome.kill();
