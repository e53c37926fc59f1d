import { expect, test } from "vitest";
import { findFallbackLimits } from "#cli/relay/fallback-limits.ts";
import { Cluster } from "#config/cluster.ts";
import type { Transport } from "#kube/client/transport.ts";

const cluster = (name: string): Cluster =>
  Cluster.parse({
    name,
    server: "https://127.0.0.1:1",
    cloud: { provider: "memory", instancesFile: "none.json" },
    controllers: ["cloud-node-controller"],
  });
const notThere = (): Promise<never> => Promise.reject(new Error("not asked"));

/** Answers nothing until the caller gives up. */
const silent: Transport = {
  send: ({ signal }) =>
    new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
  stream: notThere,
  close: async () => {},
};
const allowing: Transport = {
  async send({ signal }) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    signal?.throwIfAborted();
    return { status: 201, headers: {}, body: JSON.stringify({ status: { allowed: true } }) };
  },
  stream: notThere,
  close: async () => {},
};

test("clusters that do not answer use none of the others' time", async () => {
  const names = Array.from({ length: 8 }, (_, index) => `silent-${index}`);
  const of = (name: string, transport: Transport) =>
    findFallbackLimits(cluster(name), async () => transport, undefined, 300);
  // Four are asked at a time, and the last waits for all eight.
  const said = [...names.map((name) => of(name, silent)), of("well", allowing)];
  const all = await Promise.all(said);
  expect(all.slice(0, 8).every((each) => each?.includes("are unknown"))).toBe(true);
  expect(all.at(-1)).toBeUndefined();
});
