import { ApiUnreachable } from "#kube/client/errors.ts";
import type { ApiResponse, Transport } from "#kube/client/transport.ts";
import type { Gate } from "#test/clouds/load-balancer-world.ts";

/** Creates a transport behind a gate, for a cloud that keeps its data in the API server. */
export function createGatedTransport(inner: Transport, gateNow: () => Gate | undefined): Transport {
  const lost = (): ApiUnreachable =>
    new ApiUnreachable({ server: "https://127.0.0.1", code: "ConnectionLost", attempt: "through the gate" });
  return {
    ...inner,
    async send(request) {
      const gate = gateNow();
      const path = request.path.replace(/\?.*/, "").split("/").slice(-2).join("/");
      const what = { what: `${request.method} ${path}`, isChange: request.method !== "GET" };
      const verdict = gate?.enter(what) ?? "pass";
      if (verdict === "reset") throw lost();
      if (verdict === "stalled") {
        await new Promise((resolve) => request.signal?.addEventListener("abort", resolve, { once: true }));
        throw new ApiUnreachable({ server: "https://127.0.0.1", code: "Aborted", attempt: what.what });
      }
      if (verdict !== "pass") return REFUSALS[verdict];
      const answer = await inner.send(request);
      if (gate?.leave(what) === false) throw lost();
      return answer;
    },
  };
}

const REFUSALS: Readonly<Record<"Throttled" | "Denied" | "Unavailable", ApiResponse>> = {
  Throttled: { status: 429, headers: { "retry-after": "1" }, body: "{}" },
  Denied: { status: 403, headers: {}, body: '{"reason":"Forbidden","message":"no"}' },
  Unavailable: { status: 503, headers: {}, body: "{}" },
};
