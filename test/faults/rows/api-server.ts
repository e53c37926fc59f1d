import type { ApiFault, ProxiedRequest } from "#emulators/harness/api-server-proxy.ts";
import { createBurst } from "#test/faults/burst.ts";
import { type ProxiedOptions, startProxiedOptions } from "#test/faults/proxied.ts";
import { startRefusingWebhook } from "#test/faults/refusing-webhook.ts";
import { NODES, type Row } from "#test/faults/row.ts";
import { startFreezingProxy } from "#test/kube/client/freezing-proxy.ts";

const RETRY_AFTER = { "retry-after": "1" };

const isWatch = ({ isWatch }: ProxiedRequest): boolean => isWatch;
const isPatch = ({ method }: ProxiedRequest): boolean => method === "PATCH";
const isAny = (): boolean => true;

/** Faults of an API server, and its misbehaviour towards us. */
export const API_SERVER_ROWS: readonly Row[] = [
  restarted("SIGTERM"),
  restarted("SIGKILL"),
  proxied("API server: 429 with Retry-After to 200 requests", isAny, 200, {
    kind: "refuse",
    status: 429,
    reason: "TooManyRequests",
    headers: RETRY_AFTER,
  }),
  proxied("API server: 5xx to the next 100 writes", isPatch, 100, {
    kind: "refuse",
    status: 503,
    reason: "ServiceUnavailable",
  }),
  proxied("API server: the next 100 writes take 2 s", isPatch, 100, { kind: "delay", delayMs: 2_000 }),
  proxied("API server: answers to 100 writes are lost", isPatch, 100, { kind: "lose-answer" }),
  {
    ...proxied(
      "API server: each watch ends after 5 events",
      isWatch,
      10_000,
      { kind: "end-after", lines: 5 },
      20,
    ),
    isQuick: true,
  },
  proxied("API server: 10 watches are answered 410", isWatch, 10, {
    kind: "refuse",
    status: 410,
    reason: "Expired",
  }),
  proxied("API server: 10 watches end by an ERROR of 410", isWatch, 10, { kind: "gone-event" }),
  blackHole(),
  rotated(),
  refusingAdmission(),
];

/** The proxy's faults are planned before the relay starts, so that its first requests meet them too. */
function proxied(
  name: string,
  matches: (request: ProxiedRequest) => boolean,
  count: number,
  fault: ApiFault,
  least = count,
): Row {
  let prepared: ProxiedOptions | undefined;
  return {
    name,
    // A write whose answer was lost or rejected is sent again.
    bounds: { writesPerNode: 20, isCut: true },
    options: async (world) => {
      prepared = await startProxiedOptions(world);
      prepared.proxy.fail({ fault, count, matches });
      return prepared;
    },
    async play(stage) {
      await createBurst({})(stage);
      const met = prepared?.proxy.met() ?? 0;
      // Ended watches are opened again; it continues until all faults were met.
      for (let more = 0; more < MOST_MORE && (prepared?.proxy.met() ?? 0) < least; more += 1) {
        await stage.join(10);
        await stage.untilUp();
      }
      if ((prepared?.proxy.met() ?? 0) < least) throw new Error(`${met} of ${count} faults were met`);
    },
  };
}

const MOST_MORE = 10;

function restarted(signal: "SIGTERM" | "SIGKILL"): Row {
  return {
    name: `API server restarted in the middle (${signal})`,
    bounds: { restarted: true, isCut: true, writesPerNode: 12 },
    async play(stage) {
      await stage.startRelay();
      const joining = stage.join(NODES / 2);
      await stage.afterWrites(stage.random.whole(1, NODES / 2));
      await joining;
      await stage.world.plane.stopServer(signal);
      await stage.world.plane.startServer();
      await stage.join(NODES / 2);
      await stage.untilUp();
    },
  };
}

/** Connections that fall silent and are never closed; new ones work. */
function blackHole(): Row {
  let freeze = (): void => {};
  return {
    name: "API server: a black hole without FIN",
    bounds: { writesPerNode: 12, isCut: true },
    options: async (world) => {
      const proxy = await startFreezingProxy(Number(new URL(world.plane.server).port));
      freeze = () => proxy.freeze();
      return {
        entry: { server: `https://127.0.0.1:${proxy.port}` },
        // Time on connections is the system's own: a wait of 15 s takes one second here.
        connection: { pingIntervalMs: 500, pingTimeoutMs: 500, requestTimeoutMs: 3_000 },
        close: () => proxy.close(),
      };
    },
    play: createBurst({ during: () => freeze() }),
  };
}

function rotated(): Row {
  let prepared: ProxiedOptions | undefined;
  return {
    name: "API server: certificate, CA and tokens rotated",
    bounds: { writesPerNode: 20, isCut: true },
    options: async (world) => {
      prepared = await startProxiedOptions(world);
      return prepared;
    },
    async play(stage) {
      await stage.startRelay();
      for (const what of ["certificate", "authority", "tokens"] as const) {
        const joining = stage.join(NODES / 3);
        await stage.afterWrites(stage.random.whole(1, NODES / 3));
        await prepared?.rotate(what);
        await joining;
        await stage.untilUp();
      }
    },
  };
}

function refusingAdmission(): Row {
  return {
    name: "an admission webhook refuses our next 100 writes",
    async play(stage) {
      const webhook = await startRefusingWebhook(stage.world);
      try {
        webhook.refuse(100);
        await createBurst({})(stage);
        if (webhook.refused() < 100) throw new Error(`it refused ${webhook.refused()} writes`);
      } finally {
        await webhook.close();
      }
    },
  };
}
