import { expect } from "vitest";
import { type LogFacts, logText } from "#core/log-text.ts";
import { LOG_EVENTS, LogLine } from "#test/log-line.ts";

/** Asserts that the written form of these lines is as the reference describes. */
export function expectLogLines(lines: readonly LogFacts[]): void {
  const faults = lines.flatMap((facts): object[] => {
    const line = JSON.parse(logText(facts, new Date()));
    const parsed = LogLine.safeParse(line);
    if (!parsed.success) return [{ line, faults: parsed.error.issues }];
    return parsed.data.event in LOG_EVENTS ? [] : [{ line, faults: "the event is not in LOG_EVENTS" }];
  });
  expect(faults).toEqual([]);
}
