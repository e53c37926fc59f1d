import { expect, test } from "vitest";
import { type Claim, settleGuesses } from "#clouds/listed/listing.ts";

const AMBIGUOUS = (message: string) => ({ kind: "fault", fault: { code: "Ambiguous", message } });
const sure: Claim = { id: "1", guess: false };
const guess: Claim = { id: "1", guess: true };

test.each<[string, Readonly<Record<string, Claim | undefined>>, Readonly<Record<string, unknown>>]>([
  ["a guess without another claim stays", { a: guess }, { a: guess }],
  [
    "a guess is ambiguous if another node has the machine by its ID",
    { a: guess, b: sure },
    { a: AMBIGUOUS("box 1 is claimed by a and b"), b: sure },
  ],
  [
    "a guess of two nodes is ambiguous for both",
    { b: guess, a: guess },
    { a: AMBIGUOUS("box 1 is claimed by a and b"), b: AMBIGUOUS("box 1 is claimed by a and b") },
  ],
  [
    "guesses of different machines stay",
    { a: guess, b: { id: "2", guess: true } },
    { a: guess, b: { id: "2", guess: true } },
  ],
  ["a node without a match stays without one", { a: undefined, b: guess }, { a: undefined, b: guess }],
])("%s", (_, claims, settled) => {
  const resolutions = new Map(
    Object.entries(claims).map(([name, claim]) => [{ metadata: { name }, spec: {} }, claim] as const),
  );
  const all = [...settleGuesses(resolutions, (claim) => claim, "box")];
  expect(Object.fromEntries(all.map(([{ metadata }, each]) => [metadata.name, each]))).toEqual(settled);
});
