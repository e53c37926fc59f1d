import { createHash } from "node:crypto";
import { renderText, toMarkup } from "#relay/page/html.ts";

/**
 * The columns of the table: a title, and its text in the legend. A narrow screen shows the title next to each
 * cell.
 */
export const COLUMNS: readonly { readonly title: string; readonly legend: string }[] = [
  { title: "Cluster", legend: "its name; the bar next to it has the colour of its state" },
  { title: "State", legend: "the worst that is known of it, in the words above" },
  { title: "Objects", legend: "nodes, Services and others that its API server lists" },
  { title: "To do", legend: "objects that need work" },
  { title: "Being done", legend: "objects that a function has now" },
  {
    title: "What waits, and why",
    legend: "how many, since when (UTC), the one that waits longest, and its controller",
  },
  {
    title: "Missed",
    legend: "nodes and Services that the last sweep found waiting, and the relay should have sent",
  },
  {
    title: "Cloud API",
    legend: "calls that the cloud throttled, and seconds that calls were held back, since this process began",
  },
  { title: "Deletions", legend: "nodes whose deletion the cluster's brake holds back" },
  {
    title: "Until usable",
    legend: "from a node's creation until pods can be scheduled on it, since this process began",
  },
];

/** The state of a cluster. The page shows a word for each and gives it a colour of the same name. */
export type Health = "failing" | "stopped" | "limited" | "misconfigured" | "waiting" | "ok";

/** The words and their meanings, the worst first. */
export const HEALTH: Readonly<Record<Health, { readonly word: string; readonly legend: string }>> = {
  failing: {
    word: "not ready",
    legend: "its API server cannot be followed; only the sweep serves it",
  },
  stopped: {
    word: "stopped",
    legend: "an operator has stopped something, or what is stopped cannot be read",
  },
  limited: { word: "limited", legend: "it exceeds its limits; everything within them is served" },
  misconfigured: {
    word: "misconfigured",
    legend: "its current entry cannot be used; the previous one stays in use",
  },
  waiting: { word: "waiting", legend: "it is followed, and something has waited for longer than a minute" },
  ok: { word: "ok", legend: "it is followed, and nothing has waited for longer than a minute" },
};

/** The style sheet of the page. */
export const STYLE = toMarkup(`
:root { color-scheme: light dark; font: 14px/1.4 system-ui, sans-serif; --bad: light-dark(#b3261e, #ff8a80); --warn: light-dark(#8a5300, #ffb74d); --good: light-dark(#1b6e2e, #81c784) }
body { margin: 1rem }
table { border-collapse: collapse; width: 100% }
th, td { padding: .3rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid #8884; overflow-wrap: break-word }
thead th { position: sticky; top: 0; background: Canvas }
tbody th, code { overflow-wrap: anywhere }
tbody th, td { max-width: 28rem }
tbody th { min-width: 7rem }
tbody tr { scroll-margin-top: 3rem }
.failing { --state: var(--bad) }
.stopped, .misconfigured, .limited, .waiting { --state: var(--warn) }
.ok { --state: var(--good) }
tbody tr > th, dt[class] { border-left: 4px solid var(--state, transparent); padding-left: .6rem }
.word, dt[class], .word a { color: var(--state) }
a:focus-visible, summary:focus-visible { outline: 3px solid Highlight; outline-offset: 2px }
ul { margin: 0; padding-left: 1rem }
svg { display: block; fill: #47c; max-width: 100% }
small { opacity: .75 }
summary { cursor: pointer; padding: .3rem 0 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem .8rem }
dt { font-weight: bold }
dd { margin: 0 }
.runbook { max-width: 50rem; margin: 0 auto }
tr:target { background: Mark; color: MarkText }
@media (max-width: 60rem) {
  table:not(.codes), table:not(.codes) > tbody, table:not(.codes) tr, table:not(.codes) td, tbody th { display: block }
  table:not(.codes) > thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden }
  table:not(.codes) tr { margin-bottom: 1rem }
  td, tbody th { max-width: none; border-bottom: 0; padding: .15rem .6rem }
  table:not(.codes) td::before { opacity: .75 }
${COLUMNS.map(
  ({ title }, index) => `  table:not(.codes) td:nth-of-type(${index})::before { content: "${title}: " }`,
)
  .slice(1)
  .join("\n")}
}
`);

/**
 * Updates the page without a reload, so that readers keep their position and keyboard focus; a hidden page
 * requests nothing.
 */
export const SCRIPT = toMarkup(`
setInterval(async () => {
  if (document.hidden) return;
  try {
    const answer = await fetch("/", { signal: AbortSignal.timeout(8000) });
    if (!answer.ok) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const focused = document.activeElement?.id;
    document.querySelector("main").replaceWith(page.querySelector("main"));
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    document.title = page.title;
  } catch {
    document.title = "not answering: serverless-ccm";
  }
}, 10000);
`);

/**
 * Limits what a browser may do with the page: run this script, use this style, and send requests to this
 * process. Names from clusters are harmless even if a browser took them for markup.
 */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `script-src ${formatHash(renderText(SCRIPT))}`,
  `style-src ${formatHash(renderText(STYLE))}`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

function formatHash(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
