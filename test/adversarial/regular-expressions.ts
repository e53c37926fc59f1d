import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { LONG_TEXTS } from "./long-texts.ts";

/** A regular expression in the sources, and its first file. */
export interface FoundExpression {
  readonly source: string;
  readonly flags: string;
  readonly file: string;
}

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FOLDERS = [
  "functions",
  "src/core",
  "src/platforms",
  "src/clouds",
  "src/config",
  "src/kube",
  "src/relay",
  "src/delivery",
  "src/sweep",
  "src/tracing",
];

/** Matches a possible literal. Other text that looks like one does no harm. */
const LITERAL =
  /(?<=(?:[(=:,!&|?[{;>]|return)\s*)\/(?![*/])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/([dgimsuvy]*)/g;

/** Returns the regular expressions of all deployed code, each once and always in the same order. */
export function readExpressions(): readonly FoundExpression[] {
  const found = new Map<string, FoundExpression>();
  for (const file of globSync(
    FOLDERS.map((folder) => `${folder}/**/*.ts`),
    { cwd: ROOT },
  ).toSorted()) {
    const code = readFileSync(ROOT + file, "utf8")
      .replace(/\/\*.*?\*\//gs, "")
      .replace(/^\s*\/\/.*$/gm, "");
    for (const [, source = "", flags = ""] of code.matchAll(LITERAL)) {
      const expression = `/${source}/${flags}`;
      if (!found.has(expression) && isExpression(source, flags))
        found.set(expression, { source, flags, file });
    }
  }
  return [...found.values()];
}

function isExpression(source: string, flags: string): boolean {
  try {
    return new RegExp(source, flags) instanceof RegExp;
  } catch {
    return false;
  }
}

if (!isMainThread && typeof workerData === "number")
  for (const { source, flags } of readExpressions().slice(workerData)) {
    const expression = new RegExp(source, flags);
    for (const text of LONG_TEXTS) {
      if (expression.global) text.replace(expression, "");
      else expression.exec(text);
    }
    parentPort?.postMessage(undefined);
  }
