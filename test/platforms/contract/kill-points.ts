import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import type { ApiFault, ApiServerProxy, ProxiedRequest } from "#emulators/harness/api-server-proxy.ts";
import type { FunctionProcess } from "#test/platforms/contract/platform.ts";

/**
 * Where a process is killed on a node's path: its request about the instance has left and the cloud never gets
 * it; likewise the patch of the addresses; likewise the patch that removes the taint; that patch has landed,
 * and its answer is lost; all patches are answered, and the Event after them is lost.
 */
export const KILL_POINTS = [
  "before the cloud is asked",
  "between cloud and first patch",
  "between the two patches",
  "after the second patch",
  "before the answer",
] as const;
export type KillPoint = (typeof KILL_POINTS)[number];

/** Kills processes at one point. */
export interface Trap {
  /** Returns how many processes it still has to kill. */
  left(): number;
  /** Whether this call about instances is one of a process that dies by it; the cloud must not get it then. */
  takeCloudCall(body: Buffer): boolean;
}

/** The requests at a point, which meet a fault when their process is killed; undefined for calls of the cloud. */
const REQUESTS: Readonly<Record<KillPoint, { readonly fault: ApiFault; readonly path: RegExp } | undefined>> =
  {
    "before the cloud is asked": undefined,
    "between cloud and first patch": {
      fault: { kind: "drop" },
      path: /^PATCH \/api\/v1\/nodes\/[^/]+\/status/,
    },
    "between the two patches": { fault: { kind: "drop" }, path: /^PATCH \/api\/v1\/nodes\/[^/?]+(\?|$)/ },
    "after the second patch": {
      fault: { kind: "lose-answer" },
      path: /^PATCH \/api\/v1\/nodes\/[^/?]+(\?|$)/,
    },
    "before the answer": { fault: { kind: "drop" }, path: /^POST \/api\/v1\/namespaces\/[^/]+\/events/ },
  };

const MANY = 100_000;

/** Sets a trap: the next `times` processes that get to the point are killed there, each once. */
export function setTrap(options: {
  readonly point: KillPoint;
  readonly times: number;
  readonly api: ApiServerProxy;
  readonly expected: ReadonlyMap<string, Ec2Instance>;
  readonly findProcess: (node: string) => FunctionProcess | undefined;
}): Trap {
  const { point, times, api, expected, findProcess } = options;
  const doomed = new Set<FunctionProcess>();
  /** The process that dies by a request, by the node that the request is about. */
  const victims = new Map<string, FunctionProcess>();
  let killed = 0;

  /** Returns the process that must die for this node, and never the same one twice. */
  const doom = (node: string): FunctionProcess | undefined => {
    const found = doomed.size < times ? findProcess(node) : undefined;
    if (found === undefined || doomed.has(found)) return undefined;
    doomed.add(found);
    return found;
  };
  const kill = (victim: FunctionProcess | undefined): boolean => {
    if (victim === undefined) return false;
    victim.kill();
    killed += 1;
    return true;
  };

  const requests = REQUESTS[point];
  if (requests !== undefined)
    api.fail({
      fault: requests.fault,
      count: MANY,
      matches(request) {
        if (!requests.path.test(`${request.method} ${request.path}`)) return false;
        const node = findNode(request);
        // An Event names its node in the body alone, which is not here yet.
        if (node === undefined) return doomed.size < times;
        const victim = doom(node);
        if (victim !== undefined) victims.set(node, victim);
        return victim !== undefined;
      },
      onMet(request, body) {
        const node = findNode(request);
        kill(node === undefined ? doom(JSON.parse(body).involvedObject.name) : victims.get(node));
      },
    });

  return {
    left: () => times - killed,
    takeCloudCall(body) {
      const form = new URLSearchParams(body.toString("utf8"));
      if (requests !== undefined || form.get("Action") !== "DescribeInstances") return false;
      const asked = new Set(form.values());
      return [...expected.values()].some(
        ({ id, privateDnsName }) =>
          (asked.has(id) || asked.has(privateDnsName)) && kill(doom(privateDnsName)),
      );
    },
  };
}

function findNode({ path }: ProxiedRequest): string | undefined {
  return /^\/api\/v1\/nodes\/([^/?]+)/.exec(path)?.[1];
}
