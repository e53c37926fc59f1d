import { beforeAll, describe, expect, test } from "vitest";
import type { Program } from "#test/setup/virtual-environment.ts";
import { formatViolations, judgeExchanges, listJudged, type Verdict } from "#test/vendor-models/judge.ts";
import type { Exchange } from "#test/vendor-models/recording/exchange.ts";
import { RECORDING_TIMEOUT_MS } from "#test/vendor-models/recording/record-suites.ts";

/** The recorded exchanges of a cloud's suites, and what is expected of them. */
export interface RecordedSuites {
  readonly record: () => Promise<readonly Exchange[]>;
  /** The operations of the product, in their order. */
  readonly operations: readonly string[];
  /** Adds tests of single fields; the exchanges are there when a test runs. */
  readonly testFields: (exchanges: () => readonly Exchange[]) => void;
}

/** Tests that a judge accepts the exchanges of a cloud's suites, and that nothing of the product is missing there. */
export function testRecordedSuites(judge: Program, { record, operations, testFields }: RecordedSuites): void {
  describe("of all suites of the cloud", () => {
    let exchanges: readonly Exchange[];
    let verdict: Verdict;
    beforeAll(async () => {
      exchanges = await record();
      verdict = await judgeExchanges(judge, exchanges);
    }, RECORDING_TIMEOUT_MS);

    test("break no rule", () => {
      expect(formatViolations(verdict)).toEqual([]);
    });

    test("have every operation of the product, with an answer", () => {
      expect(listJudged(verdict)).toEqual(operations);
    });

    testFields(() => exchanges);
  });
}

/** Returns the first exchange of an operation with this text in its request or answer. Throws if it is missing. */
export function findExchange(
  exchanges: readonly Exchange[],
  method: string,
  target: RegExp,
  text: string,
): Exchange {
  const found = exchanges.find(
    (each) =>
      each.method === method &&
      target.test(each.target) &&
      (each.requestBody.includes(text) || each.answerBody.includes(text)),
  );
  if (found === undefined) throw new Error(`no suite sent ${method} ${target} with ${text}`);
  return found;
}
