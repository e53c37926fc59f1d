import { expect, test } from "vitest";
import { HoldingsQuestion, HoldingsState } from "#core/service/holdings.ts";

test("a question about all there is is told from one about a Service", () => {
  expect(HoldingsQuestion.safeParse({ holdings: true }).success).toBe(true);
  expect(HoldingsQuestion.safeParse({ service: {}, wanted: false, nodes: [] }).success).toBe(false);
});

test("what is held has a kind and an id", () => {
  expect(HoldingsState.safeParse({ holdings: [{ kind: "target group", id: "a", name: "" }] }).success).toBe(
    true,
  );
  expect(HoldingsState.safeParse({ holdings: [{ kind: "", id: "a", name: "" }] }).success).toBe(false);
});
