import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import * as z from "zod";
import type { Program } from "#test/setup/virtual-environment.ts";
import type { Exchange } from "#test/vendor-models/recording/exchange.ts";

/** What a judge prints: how many exchanges it judged of each operation, and what is wrong with them. */
const Verdict = z.strictObject({
  operations: z.record(z.string(), z.strictObject({ requests: z.int(), answers: z.int() })),
  violations: z.array(
    z.strictObject({
      operation: z.string(),
      /** Begins with `request`, `answer` or `error`. */
      message: z.string(),
      /** The test file, the first of its tests whose exchanges have it, and how many exchanges do. */
      file: z.string(),
      test: z.string(),
      count: z.int(),
    }),
  ),
});
export type Verdict = z.output<typeof Verdict>;

/**
 * Returns the verdict of a vendor's judge: the command `judge`, which reads exchanges as lines of JSON. It
 * does not judge answers with status 0.
 */
export async function judgeExchanges(judge: Program, exchanges: readonly Exchange[]): Promise<Verdict> {
  const lines = exchanges.map((exchange) => `${JSON.stringify(exchange)}\n`).join("");
  return Verdict.parse(JSON.parse(await runJudge(judge, ["judge"], lines)));
}

/**
 * Removes the answers of all but these tests, named by a test file and optionally the beginning of a title.
 * Other tests send answers on purpose that no cloud sends, or descriptions of machines that lack a part. Of equal
 * exchanges one is kept.
 */
export function keepAnswers(
  tests: readonly string[],
  exchanges: readonly Exchange[],
  except: readonly string[] = [],
): readonly Exchange[] {
  const isAmong = (names: readonly string[], { file, test }: Exchange): boolean =>
    names.some((name) => `${file} ${test}`.startsWith(name));
  const masked = exchanges.map((each) =>
    isAmong(tests, each) && !isAmong(except, each)
      ? each
      : { ...each, status: 0, answerHeaders: {}, answerBody: "" },
  );
  const distinct = new Map(
    masked.map((each) => [JSON.stringify({ ...each, file: undefined, test: undefined }), each]),
  );
  return [...distinct.values()];
}

/** Returns the violations as lines. */
export function formatViolations({ violations }: Verdict): readonly string[] {
  return violations.map(
    ({ operation, message, file, test, count }) =>
      `${operation}: ${message} (${count} times, first in ${file}, "${test}")`,
  );
}

/** Returns the operations in their order; one without a judged answer is marked. */
export function listJudged({ operations }: Verdict): readonly string[] {
  return Object.entries(operations)
    .map(([name, { answers }]) => (answers > 0 ? name : `${name} without an answer`))
    .sort();
}

/** Runs a command of a judge, and returns its output. Rejects with its errors. */
export async function runJudge(
  { program, args }: Program,
  command: readonly string[],
  input = "",
): Promise<string> {
  const child = spawn(program, [...args, ...command], { stdio: ["pipe", "pipe", "pipe"], timeout: 500_000 });
  // A program that ends early reports why on its own.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const closed = new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  const [code, output, errors] = await Promise.all([closed, text(child.stdout), text(child.stderr)]);
  if (code === 0) return output;
  throw new Error(`${program} ${command[0] ?? ""} ended with ${code}:\n${errors.slice(-4_000)}`);
}
