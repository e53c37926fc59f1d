import { expect, test } from "vitest";
import { HoldingsQuestion, HoldingsState } from "#core/service/holdings.ts";

test("distinguishes a question about all holdings from one about a Service", () => {
  expect(HoldingsQuestion.safeParse({ holdings: true }).success).toBe(true);
  expect(HoldingsQuestion.safeParse({ service: {}, wanted: false, nodes: [] }).success).toBe(false);
});

test("a holding has a kind and an ID", () => {
  expect(HoldingsState.safeParse({ holdings: [{ kind: "target group", id: "a", name: "" }] }).success).toBe(
    true,
  );
  expect(HoldingsState.safeParse({ holdings: [{ kind: "", id: "a", name: "" }] }).success).toBe(false);
});
