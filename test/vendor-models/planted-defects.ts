import { beforeAll, describe, expect, test } from "vitest";
import type { Program } from "#test/setup/virtual-environment.ts";
import { judgeExchanges, type Verdict } from "#test/vendor-models/judge.ts";
import type { Exchange } from "#test/vendor-models/recording/exchange.ts";
import { RECORDING_TIMEOUT_MS } from "#test/vendor-models/recording/record-suites.ts";

/** A change of a correct exchange, and all that the judge says of it. */
export interface Defect {
  readonly defect: string;
  readonly plant: (exchange: Exchange) => Exchange;
  readonly expected: readonly string[];
}

/** A correct exchange and the defects that are planted into it. */
export interface Planting {
  readonly exchange: string;
  readonly send: () => Promise<Exchange>;
  readonly defects: readonly Defect[];
}

/** Tests that a judge accepts correct exchanges, and reports each defect planted into them. */
export function testPlantedDefects(judge: Program, plantings: readonly Planting[]): void {
  const unchanged: Defect = { defect: "no defect, if it is correct", plant: (each) => each, expected: [] };
  const rows = plantings.flatMap(({ exchange, send, defects }) =>
    [unchanged, ...defects].map((each) => ({ ...each, exchange, send })),
  );
  describe("the judge reports", () => {
    let verdict: Verdict;
    // Starting a judge takes seconds.
    beforeAll(async () => {
      const planted = await Promise.all(
        rows.map(async ({ send, plant }, row) => ({ ...plant(await send()), file: `row ${row}` })),
      );
      verdict = await judgeExchanges(judge, planted);
    }, RECORDING_TIMEOUT_MS);

    test.for(rows.map((row, index) => ({ ...row, index })))(
      "of $exchange: $defect",
      ({ expected, index }) => {
        const found = verdict.violations.filter(({ file }) => file === `row ${index}`);
        expect(found.map(({ message }) => message)).toEqual(expected);
      },
    );
  });
}

/** Replaces the first occurrence of a text in the answer. Throws if it is missing. */
export function inAnswer(from: string, to: string): Defect["plant"] {
  return (exchange) => ({ ...exchange, answerBody: replaceFirst(exchange.answerBody, from, to) });
}

/** Replaces the first occurrence of a text or pattern in the request's body. Throws if it is missing. */
export function inRequest(from: string | RegExp, to: string): Defect["plant"] {
  return (exchange) => ({ ...exchange, requestBody: replaceFirst(exchange.requestBody, from, to) });
}

function replaceFirst(text: string, from: string | RegExp, to: string): string {
  const isThere = typeof from === "string" ? text.includes(from) : from.test(text);
  if (!isThere) throw new Error(`there is no ${from} in ${text.slice(0, 2_000)}`);
  return text.replace(from, to);
}
