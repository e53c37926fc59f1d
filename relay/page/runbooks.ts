import { readFile } from "node:fs/promises";
import { html, renderText } from "#relay/page/html.ts";
import { renderMarkdown } from "#relay/page/markdown.ts";
import { STYLE } from "#relay/page/parts.ts";

/** The path prefix of the served pages; the page at the prefix lists all codes. */
export const RUNBOOKS = "/runbooks/";
const CODES = "codes";

/** Codes with a runbook, for every controller. */
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

/** The runbook for objects that wait without a further reason. */
const BY_CONTROLLER: Readonly<Record<string, string>> = {
  "cloud-node-controller": "nodes-wait",
  "service-lb-controller": "services-wait",
};

/** Returns the path of the page that explains a code: a runbook, or the code's line in the list of codes. */
export function findRunbook(code: string, controller: string): string {
  const name = Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : BY_CONTROLLER[controller];
  return name === undefined
    ? `${RUNBOOKS}${CODES}#${encodeURIComponent(code.toWellFormed())}`
    : `${RUNBOOKS}${name}`;
}

/**
 * The folders of the pages: next to the bundle's folder, or in the sources. A bundle must not search further
 * up.
 */
const DOCS = [new URL("../docs/", import.meta.url), new URL("../../docs/", import.meta.url)];
const NAME = /^[a-z-]{1,64}$/;

const rendered = new Map<string, string>();

/** Reads the runbook of this name as an HTML page; undefined if not found. Each is read once. */
export async function readRunbook(name: string): Promise<string | undefined> {
  if (!NAME.test(name)) return undefined;
  const known = rendered.get(name);
  if (known !== undefined) return known;
  const path = name === CODES ? "reference/codes.md" : `runbooks/${name}.md`;
  for (const docs of DOCS) {
    const text = await readFile(new URL(path, docs), "utf8").catch(() => undefined);
    if (text === undefined) continue;
    const page = renderRunbook(text, `/docs/${path}`);
    rendered.set(name, page);
    return page;
  }
  return undefined;
}

function renderRunbook(text: string, path: string): string {
  const [, title = "Runbook"] = /^# (.+)$/m.exec(text) ?? [];
  return renderText(html`<!doctype html>
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
${renderMarkdown(text, { path, hrefFor: getServedPath })}</main>
</body>
</html>
`);
}

/** Returns the path under which a documentation page is served, if it is. */
function getServedPath(path: string): string | undefined {
  const [, name] = /^\/docs\/runbooks\/([a-z-]+)\.md$/.exec(path) ?? [];
  if (name !== undefined) return `${RUNBOOKS}${name}`;
  return path === "/docs/reference/codes.md" ? `${RUNBOOKS}${CODES}` : undefined;
}
