import { afterEach, expect, test } from "vitest";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { watchResource } from "#kube/follow/watch.ts";
import type { WatchNote } from "#kube/follow/watch-handler.ts";
import { type Act, type ScriptedServer, startScriptedServer } from "#test/kube/client/scripted-server.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

let server: ScriptedServer;
let transport: Transport;
const stopping = new AbortController();
let done: Promise<void>;
afterEach(async () => {
  stopping.abort();
  await done;
  await transport.close();
  await server.close();
});

test("a watch in absurdly small pieces is ended with its connection, and heals when it is well again", async () => {
  const list = JSON.stringify({ items: [], metadata: { resourceVersion: "1" } });
  let watch: Act = { piece: "\n", pieces: Number.POSITIVE_INFINITY };
  const script = ({ path }: { readonly path: string }): Act =>
    path.includes("watch=1") ? watch : { answer: 200, body: list };
  server = await startScriptedServer(script);
  transport = connect({ server: server.url, certificateAuthority: server.certificateAuthority });
  const notes: WatchNote[] = [];
  done = watchResource({
    transport,
    path: "/api/v1/nodes",
    project: (object) => object,
    // A second of the watch's takes ten milliseconds.
    clock: {
      now: () => systemClock.now() * 100,
      wallTime: () => systemClock.wallTime(),
      after: (delayMs, callback) => systemClock.after(delayMs / 100, callback),
    },
    random: () => 0.5,
    signal: stopping.signal,
    handler: { applied() {}, deleted() {}, restarted() {}, note: (note) => notes.push(note) },
  });
  await waitUntilTrue("the limit", () => notes.some((note) => note.kind === "limited"));
  expect(notes.filter(({ kind }) => kind === "limited")[0]).toMatchObject({ limit: "watchPieces" });
  watch = "stall";
  await waitUntilTrue("health", () => notes.some((note) => note.kind === "within-limits"));
  expect(notes.find(({ kind }) => kind === "within-limits")).toMatchObject({ limits: ["watchPieces"] });
  await waitUntilTrue("the end of the old connections", () => server.openSockets() === 1);
  expect(server.connections()).toBeGreaterThan(1);
});
