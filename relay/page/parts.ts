import { createHash } from "node:crypto";
import { asMarkup, textOf } from "#relay/page/html.ts";

/** How the page looks. */
export const STYLE = asMarkup(`
:root { color-scheme: light dark; font: 14px/1.4 system-ui, sans-serif }
body { margin: 1rem }
table { border-collapse: collapse; width: 100% }
th, td { padding: .3rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid #8884; overflow-wrap: break-word }
thead th { position: sticky; top: 0; background: Canvas }
td:nth-of-type(1), code { overflow-wrap: anywhere }
tbody th, td { max-width: 28rem }
.troubled > th { border-left: 4px solid #d33 }
.well > th { border-left: 4px solid #3a3 }
ul { margin: 0; padding-left: 1rem }
svg { display: block; fill: #47c }
small { opacity: .75 }
`);

/** Brings what is new without a reload, so that nobody loses their place; a hidden page asks for nothing. */
export const SCRIPT = asMarkup(`
setInterval(async () => {
  if (document.hidden) return;
  try {
    const answer = await fetch("/", { signal: AbortSignal.timeout(8000) });
    if (!answer.ok) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.querySelector("main").replaceWith(page.querySelector("main"));
    document.title = page.title;
  } catch {
    document.title = "not answering: serverless-ccm";
  }
}, 10000);
`);

/**
 * What a browser is allowed to do with the page: run this script and this style, and ask this process. Names out of clusters can
 * do nothing even where they were taken for markup.
 */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `script-src ${hashOf(textOf(SCRIPT))}`,
  `style-src ${hashOf(textOf(STYLE))}`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
