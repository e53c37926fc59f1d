import { readFile } from "node:fs/promises";
import { html, textOf } from "#relay/page/html.ts";
import { renderMarkdown } from "#relay/page/markdown.ts";
import { STYLE } from "#relay/page/parts.ts";

/** Where pages are served below, and the one that lists all codes. */
export const RUNBOOKS = "/runbooks/";
const CODES = "codes";

/** Codes that have a runbook, whichever controller reports them. */
const BY_CODE: Readonly<Record<string, string>> = {
  BrakePulled: "deletion-held-back",
  DeletionUnproven: "deletion-held-back",
  NodeCountUnknown: "deletion-held-back",
  StateMalformed: "deletion-held-back",
  StateMissing: "deletion-held-back",
  StateOfOtherVersion: "deletion-held-back",
  StateUnreadable: "deletion-held-back",
  FleetBrakeContended: "fleet-brake-engaged",
  FleetBrakeEngaged: "fleet-brake-engaged",
  FleetBrakeUnusable: "fleet-brake-engaged",
  FleetShareUsed: "fleet-brake-engaged",
  Stopped: "stopped",
  Throttled: "cloud-throttles",
};

/** What objects wait for of which nothing more is said. */
const BY_CONTROLLER: Readonly<Record<string, string>> = {
  "cloud-node-controller": "nodes-wait",
  "service-lb-controller": "services-wait",
};

/** The path of the page that says what to do about a code of an object: a runbook, or the code's line in the list of codes. */
export function runbookFor(code: string, controller: string): string {
  const name = Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : BY_CONTROLLER[controller];
  return name === undefined
    ? `${RUNBOOKS}${CODES}#${encodeURIComponent(code.toWellFormed())}`
    : `${RUNBOOKS}${name}`;
}

/** Where the pages are: beside the folder of the bundle, or else in the sources. A bundle has nothing to look for further up. */
const DOCS = [new URL("../docs/", import.meta.url), new URL("../../docs/", import.meta.url)];
const NAME = /^[a-z-]{1,64}$/;

const rendered = new Map<string, string>();

/** The runbook of this name as a page of HTML; undefined where there is none. Each is read once. */
export async function readRunbook(name: string): Promise<string | undefined> {
  if (!NAME.test(name)) return undefined;
  const known = rendered.get(name);
  if (known !== undefined) return known;
  const path = name === CODES ? "reference/codes.md" : `runbooks/${name}.md`;
  for (const docs of DOCS) {
    const text = await readFile(new URL(path, docs), "utf8").catch(() => undefined);
    if (text === undefined) continue;
    const page = pageOf(text, `/docs/${path}`);
    rendered.set(name, page);
    return page;
  }
  return undefined;
}

function pageOf(text: string, path: string): string {
  const [, title = "Runbook"] = /^# (.+)$/m.exec(text) ?? [];
  return textOf(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title}: serverless-ccm</title>
<meta name="viewport" content="width=device-width">
<style>${STYLE}</style>
</head>
<body>
<main class="runbook">
<p><a href="/">All clusters</a></p>
${renderMarkdown(text, { path, hrefFor: servedPath })}</main>
</body>
</html>
`);
}

/** Where a page of the documentation is served, if it is. */
function servedPath(path: string): string | undefined {
  const [, name] = /^\/docs\/runbooks\/([a-z-]+)\.md$/.exec(path) ?? [];
  if (name !== undefined) return `${RUNBOOKS}${name}`;
  return path === "/docs/reference/codes.md" ? `${RUNBOOKS}${CODES}` : undefined;
}
