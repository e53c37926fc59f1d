import { expect, test } from "vitest";
import { createRenewal } from "#kube/client/requester.ts";

function renewAt(clock: { ms: number }) {
  let renewals = 0;
  const renewal = createRenewal({
    authorization: async () => "Bearer fresh",
    onRenew: () => {
      renewals += 1;
    },
    closing: new AbortController().signal,
    now: () => clock.ms,
  });
  return { renewal, count: () => renewals };
}

test("credentials that are rejected again are renewed every five seconds at most", async () => {
  const clock = { ms: 0 };
  const { renewal, count } = renewAt(clock);
  await renewal.after(renewal.current());
  clock.ms = 4_000;
  await renewal.after(renewal.current());
  expect(count()).toBe(1);
  clock.ms = 5_000;
  await renewal.after(renewal.current());
  expect(count()).toBe(2);
});

test("a clock that is set back holds no renewal back", async () => {
  const clock = { ms: 3_600_000 };
  const { renewal, count } = renewAt(clock);
  await renewal.after(renewal.current());
  clock.ms = 0;
  expect(await renewal.after(renewal.current())).toBe("Bearer fresh");
  expect(count()).toBe(2);
});
