// Print what Lighthouse says of each page on a phone, a line of JSON for each.
import { launch } from "chrome-launcher";
import lighthouse from "lighthouse";

const [chromePath, ...urls] = process.argv.slice(2);
const chrome = await launch({
  chromePath,
  chromeFlags: ["--headless=new", "--no-sandbox", "--disable-background-networking"],
});
for (const url of urls) {
  const { lhr } = await lighthouse(url, { port: chrome.port, logLevel: "silent" });
  const categories = Object.entries(lhr.categories);
  const weigh = categories.flatMap(([, { auditRefs }]) => auditRefs.filter((ref) => ref.weight));
  console.log(
    JSON.stringify({
      scores: Object.fromEntries(
        categories.map(([name, { score }]) => [name, Math.round(score * 100)]),
      ),
      paint: lhr.audits["first-contentful-paint"].numericValue,
      short: weigh
        .map(({ id }) => lhr.audits[id])
        .filter(({ score }) => score !== null && score < 0.99)
        .map(({ id, score, displayValue, details }) => ({
          id,
          score,
          displayValue,
          items: details?.items?.slice(0, 3),
        })),
    }),
  );
}
await chrome.kill();
