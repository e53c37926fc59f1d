import { type FakeReply, type FakeRoute, NOT_FOUND } from "#test/clouds/oci/fake/reply.ts";

/** An accepted request that takes time. */
export interface FakeWork {
  readonly id: string;
  readonly kind: "lb" | "nlb";
  readonly compartmentId: string;
  /** The ID of the load balancer. */
  readonly target: string;
  readonly type: string;
  state: "ACCEPTED" | "IN_PROGRESS" | "SUCCEEDED" | "FAILED";
  readonly accepted: string;
  finished: string | undefined;
  /** Completes it, with or without success. */
  readonly apply: (isDone: boolean) => void;
}

/** Work requests of both services. They progress when they are read, and complete after `reads` reads. */
export interface FakeWorkRequests {
  readonly all: FakeWork[];
  /** The number of reads until completion. */
  reads: number;
  /** The error of the next work request, in the API's words; undefined lets all succeed. */
  failNext: string | undefined;
  readonly routes: readonly FakeRoute[];
  /** Starts a work request; returns headers with its ID. */
  order(
    work: Pick<FakeWork, "kind" | "compartmentId" | "target" | "type" | "apply">,
  ): Readonly<Record<string, string>>;
  isBusy(target: string): boolean;
  /** Counts a read of a load balancer. */
  look(target: string): void;
  /** Completes all work in progress. */
  finish(): void;
}

/** The network load balancers' names of operations. */
const NETWORK_TYPES: Readonly<Record<string, string>> = {
  CreateLoadBalancer: "CREATE_NETWORK_LOAD_BALANCER",
  UpdateLoadBalancer: "UPDATE_NETWORK_LOAD_BALANCER",
  DeleteLoadBalancer: "DELETE_NETWORK_LOAD_BALANCER",
  UpdateNetworkSecurityGroups: "UPDATE_NSGS",
  "Put backendSets": "UPDATE_BACKENDSET",
  "Delete backendSets": "DELETE_BACKENDSET",
  "Put listeners": "UPDATE_LISTENER",
  "Delete listeners": "DELETE_LISTENER",
};

export function createFakeWorkRequests(): FakeWorkRequests {
  const all: FakeWork[] = [];
  const looks = new Map<string, number>();
  const failures = new Map<string, string>();

  const end = (work: FakeWork): void => {
    const failure = failures.get(work.id);
    work.apply(failure === undefined);
    work.state = failure === undefined ? "SUCCEEDED" : "FAILED";
    work.finished = new Date().toISOString();
  };
  const isDone = ({ state }: FakeWork): boolean => state === "SUCCEEDED" || state === "FAILED";
  const look = (work: FakeWork): void => {
    if (isDone(work)) return;
    const count = (looks.get(work.id) ?? 0) + 1;
    looks.set(work.id, count);
    work.state = "IN_PROGRESS";
    if (count >= fake.reads) end(work);
  };
  const shown = (work: FakeWork) => {
    const failure = failures.get(work.id);
    const times = {
      timeAccepted: work.accepted,
      ...(work.finished === undefined ? {} : { timeFinished: work.finished }),
    };
    if (work.kind === "nlb")
      return {
        ...{ id: work.id, compartmentId: work.compartmentId, status: work.state },
        operationType: NETWORK_TYPES[work.type] ?? work.type,
        ...{ percentComplete: isDone(work) ? 100 : 50, ...times },
        resources: [{ entityType: "networkLoadBalancer", actionType: "UPDATED", identifier: work.target }],
      };
    const errorDetails = work.state === "FAILED" ? [{ errorCode: "BAD_INPUT", message: failure }] : [];
    return {
      ...{ id: work.id, loadBalancerId: work.target, type: work.type, lifecycleState: work.state },
      ...{ message: work.type, errorDetails, ...times },
    };
  };

  const one =
    (kind: FakeWork["kind"]) =>
    (_: unknown, id = ""): FakeReply => {
      const work = all.find((each) => each.kind === kind && each.id === id);
      if (work === undefined) return NOT_FOUND;
      look(work);
      return { status: 200, body: shown(work) };
    };

  const fake: FakeWorkRequests = {
    all,
    reads: 2,
    failNext: undefined,
    order({ kind, compartmentId, target, type, apply }) {
      const id = `ocid1.${kind === "lb" ? "loadbalancer" : "networkloadbalancer"}workrequest.oc1.phx.w${all.length + 1}`;
      const accepted = new Date(Date.now() + all.length).toISOString();
      if (fake.failNext !== undefined) failures.set(id, fake.failNext);
      fake.failNext = undefined;
      all.push({
        id,
        kind,
        compartmentId,
        target,
        type,
        apply,
        state: "ACCEPTED",
        accepted,
        finished: undefined,
      });
      return { "opc-work-request-id": id };
    },
    isBusy: (target) => all.some((work) => work.target === target && !isDone(work)),
    look(target) {
      for (const work of all) if (work.target === target) look(work);
    },
    finish() {
      for (const work of all) if (!isDone(work)) end(work);
    },
    routes: [
      { method: "GET", path: /^\/20170115\/loadBalancerWorkRequests\/([^/]+)$/, answer: one("lb") },
      { method: "GET", path: /^\/20200501\/workRequests\/([^/]+)$/, answer: one("nlb") },
      {
        method: "GET",
        path: /^\/20170115\/loadBalancers\/([^/]+)\/workRequests$/,
        paged: true,
        answer: (_, target = "") =>
          all
            .filter((work) => work.kind === "lb" && work.target === target)
            .map(shown)
            .reverse(),
      },
      {
        method: "GET",
        path: /^\/20200501\/workRequests$/,
        required: ["compartmentId"],
        paged: true,
        answer: ({ query }) => ({
          status: 200,
          body: {
            items: all
              .filter(({ kind, compartmentId }) => kind === "nlb" && compartmentId === query["compartmentId"])
              .map(shown)
              .reverse(),
          },
        }),
      },
    ],
  };
  return fake;
}
