import type { Cloud } from "#clouds/cloud.ts";
import { digitalOceanLoadBalancerModel as model } from "#clouds/digitalocean/load-balancers/model.ts";
import type { LoadBalancerQuestion, LoadBalancerStep, TargetNode } from "#core/service/model.ts";
import { Service } from "#core/service/service.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";
import type { FakeDroplet } from "#emulators/digitalocean/droplets.ts";
import { buildCall } from "#test/clouds/builders.ts";
import { buildConfig } from "#test/clouds/digitalocean/world.ts";

export const UID = "3c9f1f4e-6f5d-4b8c-9a55-0f1e2d3c4b5a";
export const DEFAULT_NAME = "a3c9f1f4e6f5d4b8c9a550f1e2d3c4b5";
export const PREFIX = "service.beta.kubernetes.io/do-loadbalancer-";
export const ID = "kubernetes.digitalocean.com/load-balancer-id";

export interface Traits {
  readonly uid?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: Record<string, unknown>;
}

/**
 * Builds a Service of type LoadBalancer with a port for HTTP and one for HTTPS; annotations without a dot get
 * the cloud's prefix.
 */
export function buildService({ uid = UID, annotations = {}, spec = {} }: Traits = {}): Service {
  const named = Object.entries(annotations).map(([key, value]) => [
    key.includes(".") ? key : `${PREFIX}${key}`,
    value,
  ]);
  return Service.parse({
    metadata: {
      namespace: "default",
      name: "web",
      uid,
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      annotations: Object.fromEntries(named),
    },
    spec: {
      type: "LoadBalancer",
      externalTrafficPolicy: "Cluster",
      ports: [
        { name: "http", protocol: "TCP", port: 80, nodePort: 30_080 },
        { name: "https", protocol: "TCP", port: 443, nodePort: 30_443 },
      ],
      ...spec,
    },
  });
}

/** Builds a cluster's settings with a configuration of its cloud. */
export function buildSettings(config: Record<string, unknown> = {}): Settings {
  return { ...DEFAULT_SETTINGS, cloud: { ...buildConfig(config) } };
}

/** Builds the nodes of droplets as load balancers know them. */
export function buildNodes(droplets: readonly FakeDroplet[]): TargetNode[] {
  return droplets.map(({ id, name }) => ({ name, providerID: `digitalocean://${id}` }));
}

/** The result of a Service, and the work until then. */
export interface Outcome {
  readonly last:
    | LoadBalancerStep
    | { readonly kind: "error"; readonly code: string; readonly message: string };
  /** Actions, writes and waits, in order. */
  readonly done: readonly string[];
  /** The Service with the written fields. */
  readonly service: Service;
}

/**
 * Applies the next steps of a Service until nothing is left, as the controller does. Waits end at once, after
 * at most so many rounds.
 */
export async function converge(
  cloud: Cloud,
  settings: Settings,
  asked: Service,
  { wanted = true, nodes = [] as readonly TargetNode[], waits = 5, errors = 0 } = {},
): Promise<Outcome> {
  const capability = cloud.capabilities?.["loadBalancers"];
  if (capability === undefined) throw new Error("the cloud has no load balancers");
  const done: string[] = [];
  let service = asked;
  let [waited, failed] = [0, 0];
  for (let look = 0; look < 30; look += 1) {
    const question = (): LoadBalancerQuestion => ({ service, wanted, nodes: wanted ? nodes : [] });
    const before = model.precheck(question(), settings);
    if (before !== undefined) return { last: before, done, service };
    const { answers } = await capability.observe([question()], buildCall());
    const [answer] = answers;
    if (answer?.kind !== "observed") {
      if (answer === undefined) throw new Error("no answer");
      failed += 1;
      if (failed > errors) return { last: answer, done, service };
      continue;
    }
    let state: unknown = answer.state;
    let again = false;
    for (let turn = 0; turn < 10 && !again; turn += 1) {
      const step = model.planStep(question(), state, settings);
      if (step.kind === "wait" && waited < waits) {
        waited += 1;
        done.push(`wait: ${step.because.code}`);
        again = true;
      } else if (step.kind === "write") {
        const edit = step.edit.annotations ?? {};
        done.push(
          `write: ${Object.keys(edit)
            .map((key) => key.replace(PREFIX, ""))
            .join(", ")}`,
        );
        service = {
          ...service,
          metadata: {
            ...service.metadata,
            annotations: { ...service.metadata.annotations, ...(edit as Record<string, string>) },
          },
        };
      } else if (step.kind === "act") {
        for (const action of step.actions) {
          done.push(action.action);
          const precondition = { uid: service.metadata.uid, deleting: false };
          const whole = { on: "cloud", capability: "loadBalancers", ...action, precondition } as const;
          const { answer: result } = await capability.act(whole, buildCall());
          if (result.kind === "done") {
            state = model.applyResult(state, action, result.result);
            continue;
          }
          failed += 1;
          if (result.kind === "error" && failed > errors) return { last: result, done, service };
          again = true;
          break;
        }
      } else {
        return { last: step, done, service };
      }
    }
    if (!again) throw new Error(`it comes to no end: ${done.join(", ")}`);
  }
  throw new Error(`it comes to no end: ${done.join(", ")}`);
}
