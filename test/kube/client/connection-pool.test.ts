import { expect, test } from "vitest";
import type { Connection } from "#kube/client/connection.ts";
import { createConnectionPool } from "#kube/client/connection-pool.ts";

/** A connection that only knows whether it was retired. */
function connectionNamed(name: string): Connection & { readonly name: string } {
  let usable = true;
  return {
    name,
    usable: () => usable,
    maxStreams: () => 100,
    openStreams: () => 0,
    silentMs: () => 0,
    open: () => {
      throw new Error("nothing is sent here");
    },
    untouched: () => true,
    retire: () => {
      usable = false;
    },
    destroy: async () => {},
    closed: new Promise(() => {}),
  };
}

/** Creates a pool whose connections open when the test says so. */
function poolOfTests() {
  const openings: PromiseWithResolvers<Connection>[] = [];
  const pool = createConnectionPool(() => {
    const opening = Promise.withResolvers<Connection>();
    openings.push(opening);
    return opening.promise;
  }, 30_000);
  const arrive = async (index: number): Promise<void> => {
    openings[index]?.resolve(connectionNamed(`connection ${index}`));
    // Every waiting caller has asked again by then.
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  };
  return { pool, openings, arrive };
}

test("a caller that waits for a connection that is retired before it opens gets the next one", async () => {
  const { pool, openings, arrive } = poolOfTests();
  const waiting = [pool.get(), pool.get()];
  pool.retire();
  await arrive(0);
  await arrive(1);
  expect(await Promise.all(waiting)).toMatchObject([{ name: "connection 1" }, { name: "connection 1" }]);
  expect(openings).toHaveLength(2);
});

test("a pool whose connections never last opens a bounded number for one request", async () => {
  const { pool, openings, arrive } = poolOfTests();
  const waiting = pool.get();
  for (let index = 0; index < 5; index += 1) {
    pool.retire();
    await arrive(index);
  }
  expect((await waiting).usable()).toBe(false);
  expect(openings).toHaveLength(3);
});

test("a connection that is over is left by new requests, and the next one is not opened for each of them", async () => {
  const over = new Set<Connection>();
  let opened = 0;
  const pool = createConnectionPool(
    async () => connectionNamed(`connection ${opened++}`),
    30_000,
    (connection) => over.has(connection),
  );
  const first = await pool.get();
  over.add(first);
  expect(pool.ready()).toBeUndefined();
  expect(first.usable()).toBe(false);
  const next = [await pool.get(), await pool.get()];
  expect(next).toMatchObject([{ name: "connection 1" }, { name: "connection 1" }]);
  expect(opened).toBe(2);
});
