import type { ApiFault, ProxiedRequest } from "#emulators/harness/api-server-proxy.ts";
import { burst } from "#test/faults/burst.ts";
import { type ProxiedOptions, proxiedOptions } from "#test/faults/proxied.ts";
import { refusingWebhook } from "#test/faults/refusing-webhook.ts";
import { NODES, type Row } from "#test/faults/row.ts";
import { startFreezingProxy } from "#test/kube/client/freezing-proxy.ts";

const RETRY_AFTER = { "retry-after": "1" };

const isWatch = ({ isWatch }: ProxiedRequest): boolean => isWatch;
const isPatch = ({ method }: ProxiedRequest): boolean => method === "PATCH";
const isAny = (): boolean => true;

/** What can befall an API server, and what it can do to us. */
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

/** What is told of the proxy is told before the relay is there, so that its first requests meet it too. */
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
    // A write whose answer was lost or refused is sent again.
    bounds: { writesPerNode: 20, isCut: true },
    options: async (world) => {
      prepared = await proxiedOptions(world);
      prepared.proxy.fail({ fault, count, matches });
      return prepared;
    },
    async play(stage) {
      await burst({})(stage);
      const met = prepared?.proxy.met() ?? 0;
      // Watches that end are asked for again; it goes on until all have been met.
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

/** Connections that fall silent and are never closed; what is made anew works. */
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
        // Time on connections is the system's own: what takes 15 s there takes one here.
        connection: { pingIntervalMs: 500, pingTimeoutMs: 500, requestTimeoutMs: 3_000 },
        close: () => proxy.close(),
      };
    },
    play: burst({ during: () => freeze() }),
  };
}

function rotated(): Row {
  let prepared: ProxiedOptions | undefined;
  return {
    name: "API server: certificate, CA and tokens rotated",
    bounds: { writesPerNode: 20, isCut: true },
    options: async (world) => {
      prepared = await proxiedOptions(world);
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
      const webhook = await refusingWebhook(stage.world);
      try {
        webhook.refuse(100);
        await burst({})(stage);
        if (webhook.refused() < 100) throw new Error(`it refused ${webhook.refused()} writes`);
      } finally {
        await webhook.close();
      }
    },
  };
}
