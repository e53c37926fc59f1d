import { describe, expect, test } from "vitest";
import { Event } from "#core/event.ts";
import { formatTraceParent, parseTraceParent } from "#core/trace-context.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const PARENT = `00-${TRACE}-${SPAN}-01`;

describe("a traceparent", () => {
  test.each([
    ["sampled", PARENT, { traceId: TRACE, spanId: SPAN, sampled: true }],
    ["not sampled", `00-${TRACE}-${SPAN}-00`, { traceId: TRACE, spanId: SPAN, sampled: false }],
    ["with unknown flags", `00-${TRACE}-${SPAN}-03`, { traceId: TRACE, spanId: SPAN, sampled: true }],
    ["of a later version", `cc-${TRACE}-${SPAN}-01-more`, { traceId: TRACE, spanId: SPAN, sampled: true }],
  ] as const)("%s is parsed", (_, text, context) => {
    expect(parseTraceParent(text)).toEqual(context);
  });

  test.each([
    ["an empty string", ""],
    ["a word", "trace"],
    ["capital letters", PARENT.toUpperCase()],
    ["version ff", `ff-${TRACE}-${SPAN}-01`],
    ["a field more than version 00 has", `${PARENT}-more`],
    ["a trace of zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
    ["a span of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["a trace that is too short", `00-${TRACE.slice(1)}-${SPAN}-01`],
    ["a leading blank", ` ${PARENT}`],
    ["missing flags", `00-${TRACE}-${SPAN}`],
    ["a line break", `${PARENT}\n`],
  ] as const)("%s is invalid", (_, text) => {
    expect(parseTraceParent(text)).toBeUndefined();
  });

  test("is formatted as it was parsed", () => {
    for (const text of [PARENT, `00-${TRACE}-${SPAN}-00`]) {
      const context = parseTraceParent(text);
      expect(context && formatTraceParent(context)).toBe(text);
    }
  });
});

describe("an event's trace", () => {
  const event = {
    version: 1,
    id: "event-1",
    cluster: "tenant-a",
    clusterHash: "0123456789abcdef",
    controller: "cloud-node-controller",
    reason: "watch",
    objects: [{}],
  };

  test("is kept if it is valid", () => {
    expect(Event.parse({ ...event, trace: PARENT }).trace).toBe(PARENT);
  });

  test.each([
    ["garbage", "garbage"],
    ["a number", 7],
    ["null", null],
    ["an object", { traceparent: PARENT }],
    ["much", "0".repeat(100_000)],
  ])("is dropped if it is %s, and the event is accepted", (_, trace) => {
    const parsed = Event.parse({ ...event, trace });
    expect(parsed).toEqual(event);
    expect(JSON.parse(JSON.stringify(parsed))).toEqual(event);
  });

  test("is optional", () => {
    expect(Event.parse(event)).toEqual(event);
  });
});
