import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./bundle.ts";

/** A place that breaks a rule. */
export interface WordFault {
  /** From 1. */
  readonly line: number;
  readonly message: string;
}

/** The rules, each with what to write instead. */
const RULES: readonly (readonly [pattern: RegExp, advice: string])[] = [
  [/\b(?:whoever|nobody|somebody)\b/gi, "name the actor, or say that it is missing"],
  [/\b(?:is|are) none\b/gi, 'say "is missing", "is invalid" or "there is no …"'],
  [/\b(?:as it|that) is to be\b/gi, "name the desired state"],
  [/\b(?:is|are) to be\b/gi, 'say "must", "will" or "needs"'],
  [/\bagain and again\b/gi, 'say "repeatedly", or how often'],
  [/(?<!there )\bis no (?:JSON|list|number)\b/g, 'say "is not a …"'],
  [/\b(?:is|are) no more[,;.]/gi, 'say "no longer exists"'],
  [/\balso if\b/gi, 'say "even if"'],
  [/(?:\/\*\*?|\/\/|^\s*\*) …/g, "a comment is a sentence of its own"],
  [/\/\*\* The same/gi, "name the thing that is documented"],
];

/** Suppresses the rules for the next line, with a reason; in Markdown within an HTML comment. */
const SUPPRESSION = /words-ignore: \S/;

/** The maximum of words in a sentence of a comment; a colon or a semicolon ends a sentence, too. */
const MAX_SENTENCE_WORDS = 25;

/** The maximum of characters in a line of Markdown and in a line of a comment. */
const MAX_CHARACTERS = 120;
const FILES = ["*.ts", "*.md", "*.yml", "*.yaml"];
/** The rules themselves, and their test. */
const LEFT_OUT = new Set(["build/lint-words.ts", "test/build/lint-words.test.ts"]);

/**
 * Checks the words of a file, and the length of its lines in Markdown and in comments. Tables, code, pictures and
 * long links may be longer.
 */
export function checkWords(path: string, text: string): readonly WordFault[] {
  const lines = text.split("\n");
  const faults = lines.flatMap((line, index) => {
    if (SUPPRESSION.test(lines[index - 1] ?? "")) return [];
    return RULES.flatMap(([pattern, advice]) =>
      [...line.matchAll(pattern)].map(([found]) => ({
        line: index + 1,
        message: `"${found}": ${advice}`,
      })),
    );
  });
  if (path.endsWith(".ts")) return [...faults, ...checkSentences(lines), ...checkCommentLengths(lines)];
  return path.endsWith(".md") ? [...faults, ...checkLineLengths(lines)] : faults;
}

/** Checks the sentences of comments: lines in a row are one text; an empty line, a list or code ends it. */
function checkSentences(lines: readonly string[]): readonly WordFault[] {
  const comments: { readonly line: number; text: string }[] = [];
  let isOpen = false;
  for (const [index, line] of lines.entries()) {
    const text = /^\s*(?:\/\*\*?|\*(?!\/)|\/\/)\s?(.*?)(?:\*\/)?$/.exec(line)?.[1]?.trim() ?? "";
    const begins = /^\s*\/\*|^\s*(?:\*|\/\/)\s*[-@|]/.test(line);
    const last = comments.at(-1);
    if (text === "") isOpen = false;
    else if (isOpen && !begins && last !== undefined) last.text += ` ${text}`;
    else comments.push({ line: index + 1, text });
    if (text !== "") isOpen = !/\*\/\s*$/.test(line);
  }
  return comments.flatMap(({ line, text }) =>
    text
      .split(/(?<=[.!?:;])\s+/)
      .map((sentence) => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length)
      .filter((words) => words > MAX_SENTENCE_WORDS)
      .map((words) => ({
        line,
        message: `a sentence of ${words} words: write at most ${MAX_SENTENCE_WORDS}`,
      })),
  );
}

/** Checks the lines that are comments; directives and a long last word cannot be broken. */
function checkCommentLengths(lines: readonly string[]): readonly WordFault[] {
  return lines.flatMap((line, index) => {
    const isLong = [...line].length > MAX_CHARACTERS && /\S\s+\S{1,100}(?:\s*\*\/)?$/.test(line);
    if (!isLong || !/^\s*(?:\/\*|\*|\/\/)/.test(line) || /biome-ignore|@ts-|words-ignore/.test(line))
      return [];
    return [{ line: index + 1, message: `the comment is longer than ${MAX_CHARACTERS} characters` }];
  });
}

function checkLineLengths(lines: readonly string[]): readonly WordFault[] {
  let isCode = false;
  return lines.flatMap((line, index) => {
    if (/^\s*```/.test(line)) isCode = !isCode;
    const isLong = [...line].length > MAX_CHARACTERS && /\S\s+\S{1,100}$/.test(line);
    if (isCode || /^\s*\||^!\[/.test(line) || !isLong) return [];
    return [{ line: index + 1, message: `the line is longer than ${MAX_CHARACTERS} characters` }];
  });
}

/** Lists the tracked and the new files that rules apply to; without ignored and deleted ones. */
export function listFiles(root: string): readonly string[] {
  const listed = execFileSync(
    "git",
    ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ...FILES],
    { cwd: root, encoding: "utf8" },
  );
  return [...new Set(listed.split("\0"))].filter(
    (file) => file !== "" && !LEFT_OUT.has(file) && existsSync(join(root, file)),
  );
}

/** Checks all files of the checkout, prints the faults, and returns the exit code. */
function main(): number {
  const files = listFiles(ROOT);
  const faults = files.flatMap((file) =>
    checkWords(file, readFileSync(join(ROOT, file), "utf8")).map(
      ({ line, message }) => `${file}:${line}: ${message}`,
    ),
  );
  if (faults.length > 0) process.stderr.write(`${faults.join("\n")}\n`);
  process.stdout.write(`words: ${files.length} files, ${faults.length} faults\n`);
  return faults.length > 0 ? 1 : 0;
}

if (import.meta.main) process.exitCode = main();
