import fc from "fast-check";

/** The names of each tenant's Services; both tenants use the same. */
export const SERVICE_NAMES = ["web", "api", "dns"] as const;
/** The number of machines of each tenant in the account; the first half are the victim's. */
export const MACHINES_PER_TENANT = 3;

/** The source of a hostile Service's uid. */
export type ForgedUid =
  /** A new uid, as an honest API server creates it. */
  | "new"
  /** The uid of a Service of the victim. */
  | "victim's"
  /** The victim's uid with another last digit, which is not part of load balancer names. */
  | "last digit"
  /** The victim's uid in capitals and without dashes, which does not change names without dashes. */
  | "spelling";

/** The claims of a hostile Service, beyond its uid. */
export const CLAIMS = ["finalizer", "state", "status", "groups", "addresses", "subnets", "tags"] as const;
export type Claim = (typeof CLAIMS)[number];

/** Lies of the hostile API server in place of one read of a Service. */
export const LIES = [
  "nothing",
  "gone",
  "deleting",
  "ClusterIP",
  "LoadBalancer",
  "bare",
  "uid",
  "failing",
] as const;
export type Lie = (typeof LIES)[number];

/** The nodes in a list of the hostile API server. */
export const NODE_LISTS = ["true", "empty", "partial", "victim's", "all"] as const;
export type NodeList = (typeof NODE_LISTS)[number];

/** The Services in an event of the hostile cluster. */
export const SERVICE_LISTS = ["true", "empty", "partial", "victim's"] as const;
export type ServiceList = (typeof SERVICE_LISTS)[number];

/** An event in one of the two clusters. */
export type TenantHappening =
  | { readonly do: "create"; readonly service: number; readonly ports: readonly number[] }
  | { readonly do: "edit"; readonly service: number; readonly ports: readonly number[] }
  | { readonly do: "change type"; readonly service: number; readonly isWanted: boolean }
  | { readonly do: "delete"; readonly service: number }
  | { readonly do: "set nodes"; readonly nodes: readonly number[] }
  | { readonly do: "invoke"; readonly isAudit: boolean }
  /** The audit of resources without a Service. */
  | { readonly do: "audit" }
  | {
      readonly do: "attack by audit";
      /** The Services in the event and in the API server's answers. */
      readonly eventServices: ServiceList;
      readonly lies: readonly Lie[];
      readonly staleMs: number;
    }
  | {
      readonly do: "forge Service";
      readonly service: number;
      readonly uid: ForgedUid;
      /** The victim's Service with this uid. */
      readonly victim: number;
      readonly isWanted: boolean;
      readonly isDeleting: boolean;
      readonly isNetwork: boolean;
      readonly ports: readonly number[];
      readonly claims: readonly Claim[];
    }
  /** Numbers of machines, including the victim's. */
  | { readonly do: "forge nodes"; readonly nodes: readonly number[]; readonly isVictimsNetwork: boolean }
  | {
      readonly do: "attack";
      readonly isAudit: boolean;
      /** The age of the event's objects. */
      readonly staleMs: number;
      /** The nodes in the event and in the API server's answers. */
      readonly eventNodes: NodeList;
      readonly listedNodes: NodeList;
      /** The answers to the reads, in rotation. */
      readonly lies: readonly Lie[];
      /** The number of repetitions: an object that a tenant keeps changing is resynced repeatedly. */
      readonly times: number;
      /** The victim's own actor works at the same time. */
      readonly isBesideVictim: boolean;
    };

export type TenantStep = TenantHappening & { readonly afterMs: number };
type Kind = TenantHappening["do"];

const service = fc.nat({ max: SERVICE_NAMES.length - 1 });
const ports = fc.subarray([80, 443], { minLength: 1 });
const nodes = fc.subarray([...Array(MACHINES_PER_TENANT).keys()]);
const nodeList = fc.constantFrom<NodeList>("true", "true", "true", ...NODE_LISTS);
const isWanted = fc.constantFrom(true, true, true, false);

type Happenings = {
  readonly [Name in Kind]: readonly [
    weight: number,
    fc.Arbitrary<Omit<Extract<TenantHappening, { readonly do: Name }>, "do">>,
  ];
};

const HAPPENINGS: Happenings = {
  create: [4, fc.record({ service, ports })],
  edit: [2, fc.record({ service, ports })],
  "change type": [1, fc.record({ service, isWanted })],
  delete: [1, fc.record({ service })],
  "set nodes": [2, fc.record({ nodes })],
  invoke: [7, fc.record({ isAudit: fc.boolean() })],
  audit: [2, fc.record({})],
  "attack by audit": [
    3,
    fc.record({
      eventServices: fc.constantFrom<ServiceList>("true", ...SERVICE_LISTS),
      lies: fc.constantFrom<readonly Lie[]>(["nothing"], ["nothing"], ["gone"], ["uid"]),
      staleMs: fc.constantFrom(0, 60_000),
    }),
  ],
  "forge Service": [
    8,
    fc.record({
      service,
      uid: fc.constantFrom<ForgedUid>("new", "victim's", "victim's", "last digit", "spelling"),
      victim: service,
      isWanted,
      isDeleting: fc.constantFrom(false, false, true),
      isNetwork: fc.boolean(),
      ports,
      claims: fc.oneof(fc.constant<readonly Claim[]>([]), fc.subarray([...CLAIMS], { maxLength: 2 })),
    }),
  ],
  "forge nodes": [
    3,
    fc.record({
      nodes: fc.subarray([...Array(2 * MACHINES_PER_TENANT).keys()]),
      isVictimsNetwork: fc.boolean(),
    }),
  ],
  attack: [
    12,
    fc.record({
      isAudit: fc.boolean(),
      staleMs: fc.constantFrom(0, 0, 5_000, 60_000),
      eventNodes: nodeList,
      listedNodes: nodeList,
      lies: fc.oneof(
        { weight: 2, arbitrary: fc.constant<readonly Lie[]>(["nothing"]) },
        fc.array(fc.constantFrom(...LIES), { minLength: 1, maxLength: 4 }),
      ),
      times: fc.constantFrom(1, 1, 1, 1, 1, 1, 1, 1, 1, 6),
      isBesideVictim: fc.constantFrom(false, false, false, true),
    }),
  ],
};

/** The longest is the notice before an orphan's deletion. */
const afterMs = fc.constantFrom(0, 0, 0, 0, 1_000, 1_000, 10_000, 10_000, 70_000, 70_000, 960_000);

/** Returns an arbitrary for histories of this many steps of both tenants. */
export function createTenantHistoryArbitrary(length: number): fc.Arbitrary<readonly TenantStep[]> {
  const steps = Object.entries(HAPPENINGS).map(([name, [weight, happening]]) => ({
    weight,
    arbitrary: fc
      .tuple(afterMs, happening as fc.Arbitrary<object>)
      .map(([after, values]) => ({ do: name, ...values, afterMs: after }) as TenantStep),
  }));
  return fc.array(fc.oneof(...steps), { minLength: length, maxLength: length, size: "max" });
}

/** Returns a step as one line. */
export function describeTenantStep({ do: name, afterMs: after, ...values }: TenantStep): string {
  return `+${after} ms  ${name} ${JSON.stringify(values)}`;
}
