import type { Listener, ListenerDescription } from "@aws-sdk/client-elastic-load-balancing";
import type { AwsActionName, AwsRequests } from "#clouds/aws/load-balancers/actions.ts";
import type {
  AwsLoadBalancerState,
  ClassicLoadBalancerState,
  SubnetState,
  TargetInstance,
} from "#clouds/aws/load-balancers/state.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";
import { checkCall } from "#test/aws-models/aws-calls.ts";
import { FakeGroups, Refusal } from "#test/clouds/aws/load-balancers/classic/fake-groups.ts";

export const CERTIFICATES = [
  "arn:aws:acm:eu-central-1:123456789012:certificate/one",
  "arn:aws:acm:eu-central-1:123456789012:certificate/two",
];
export const TLS_POLICIES = ["ELBSecurityPolicy-2016-08", "ELBSecurityPolicy-TLS-1-2-2017-01"];

type Operations = { readonly [Name in AwsActionName]?: (request: AwsRequests[Name]) => object };

/**
 * Classic Elastic Load Balancing and its VPC, as strict as AWS documents them: it rejects what AWS would
 * reject.
 */
export class FakeElb {
  readonly classics = new Map<string, ClassicLoadBalancerState>();
  readonly security = new FakeGroups();
  subnets: readonly SubnetState[] = [];
  instances: Readonly<Record<string, TargetInstance>> = {};
  /** The actions carried out, in order. */
  readonly done: string[] = [];
  /** How many reads do not show a new load balancer yet, and how long its security groups stay in use. */
  lag = { invisible: 0, inUse: 0 };
  readonly #hidden = new Map<string, number>();
  readonly #lingering = new Map<string, number>();

  constructor() {
    this.security.isAttached = (id) => {
      const left = this.#lingering.get(id) ?? 0;
      if (left > 0) this.#lingering.set(id, left - 1);
      const isOn = [...this.classics.values()].some((each) => each.loadBalancer.SecurityGroups?.includes(id));
      return left > 0 || isOn;
    };
  }

  /** Returns the observation of the load balancer with a name. */
  observe(name: string): AwsLoadBalancerState {
    const hidden = this.#hidden.get(name) ?? 0;
    if (hidden > 0) this.#hidden.set(name, hidden - 1);
    const classic = hidden > 0 ? undefined : this.classics.get(name);
    const vpc = {
      id: "vpc-1",
      subnets: this.subnets,
      groups: [...this.security.groups.values()],
      instances: this.instances,
    };
    if (classic !== undefined) {
      const { loadBalancer, attributes, policies } = classic;
      checkCall("elb:DescribeLoadBalancers", "answer", { LoadBalancerDescriptions: [loadBalancer] });
      checkCall("elb:DescribeLoadBalancerAttributes", "answer", { LoadBalancerAttributes: attributes });
      checkCall("elb:DescribeLoadBalancerPolicies", "answer", { PolicyDescriptions: policies });
    }
    return structuredClone({ targetGroups: [], vpc, ...(classic === undefined ? {} : { classic }) });
  }

  /** Carries out an action; throws what AWS rejects. */
  act({ action, parameters }: LoadBalancerAction): object {
    const operation = this.#operations[action as AwsActionName] as ((request: unknown) => object) | undefined;
    if (operation === undefined) throw new Error(`${action} is not played`);
    checkCall(action, "request", parameters);
    const result = operation(structuredClone(parameters));
    checkCall(action, "answer", result);
    this.done.push(action);
    return structuredClone(result);
  }

  readonly #operations: Operations = {
    "ec2:CreateSecurityGroup": (request) => this.security.create(request),
    "ec2:DeleteSecurityGroup": (request) => this.security.delete(request),
    "ec2:AuthorizeSecurityGroupIngress": (request) => this.security.authorize(request),
    "ec2:RevokeSecurityGroupIngress": (request) => this.security.revoke(request),
    "ec2:CreateTags": (request) => this.security.tag(request),
    "ec2:DeleteTags": (request) => this.security.untag(request),
    "elb:CreateLoadBalancer": (request) => this.#create(request),
    "elb:DeleteLoadBalancer": ({ LoadBalancerName: name = "" }) => {
      const groups = this.classics.get(name)?.loadBalancer.SecurityGroups ?? [];
      for (const id of groups) this.#lingering.set(id, this.lag.inUse);
      this.classics.delete(name);
      return {};
    },
    "elb:AddTags": ({ LoadBalancerNames: [name] = [], Tags = [] }) =>
      this.#change(name, (state) => {
        const tags = {
          ...state.tags,
          ...Object.fromEntries(Tags.map(({ Key, Value = "" }) => [Key, Value])),
        };
        if (new Set(Tags.map(({ Key }) => Key)).size < Tags.length) throw new Refusal("DuplicateTagKeys");
        if (Object.keys(tags).length > 50) throw new Refusal("TooManyTags");
        return { ...state, tags };
      }),
    "elb:RemoveTags": ({ LoadBalancerNames: [name] = [], Tags = [] }) =>
      this.#change(name, (state) => {
        const left = Object.entries(state.tags).filter(([key]) => !Tags.some(({ Key }) => Key === key));
        return { ...state, tags: Object.fromEntries(left) };
      }),
    "elb:RegisterInstancesWithLoadBalancer": ({ LoadBalancerName, Instances: added = [] }) =>
      this.#describe(LoadBalancerName, ({ Instances: before = [] }) => {
        for (const { InstanceId: id = "" } of added) this.#checkInstance(id);
        const others = before.filter((one) => !added.some((each) => each.InstanceId === one.InstanceId));
        return { Instances: [...others, ...added] };
      }),
    "elb:DeregisterInstancesFromLoadBalancer": ({ LoadBalancerName, Instances: gone = [] }) =>
      this.#describe(LoadBalancerName, ({ Instances: before = [] }) => ({
        Instances: before.filter((one) => !gone.some((each) => each.InstanceId === one.InstanceId)),
      })),
    "elb:CreateLoadBalancerListeners": ({ LoadBalancerName, Listeners = [] }) =>
      this.#change(LoadBalancerName, (state) => {
        const { ListenerDescriptions: before = [] } = state.loadBalancer;
        for (const { LoadBalancerPort: port } of Listeners)
          if (before.some(({ Listener: one }) => one?.LoadBalancerPort === port))
            throw new Refusal("DuplicateListener", String(port));
        const added = Listeners.map((each) => this.#listener(each));
        return withDefaultPolicy({
          ...state,
          loadBalancer: { ...state.loadBalancer, ListenerDescriptions: [...before, ...added] },
        });
      }),
    "elb:DeleteLoadBalancerListeners": ({ LoadBalancerName, LoadBalancerPorts: gone = [] }) =>
      this.#describe(LoadBalancerName, ({ ListenerDescriptions: before = [] }) => ({
        ListenerDescriptions: before.filter(
          ({ Listener: one }) => !gone.includes(one?.LoadBalancerPort ?? 0),
        ),
      })),
    "elb:SetLoadBalancerListenerSSLCertificate": ({ LoadBalancerName, LoadBalancerPort, SSLCertificateId }) =>
      this.#listenerOf(LoadBalancerName, LoadBalancerPort, ({ Listener: one, ...rest }) => {
        if (one?.SSLCertificateId === undefined) throw new Refusal("InvalidConfigurationRequest", "not TLS");
        if (!CERTIFICATES.includes(SSLCertificateId ?? "")) throw new Refusal("CertificateNotFound");
        return { ...rest, Listener: { ...one, SSLCertificateId } };
      }),
    "elb:CreateLoadBalancerPolicy": (request) =>
      this.#change(request.LoadBalancerName, (state) => {
        const { PolicyName, PolicyTypeName, PolicyAttributes = [] } = request;
        if (state.policies.some((each) => each.PolicyName === PolicyName))
          throw new Refusal("DuplicatePolicyName", PolicyName);
        const [{ AttributeName, AttributeValue = "" } = {}] = PolicyAttributes;
        const isGood =
          PolicyTypeName === "ProxyProtocolPolicyType"
            ? AttributeName === "ProxyProtocol" && AttributeValue === "true"
            : PolicyTypeName === "SSLNegotiationPolicyType" &&
              AttributeName === "Reference-Security-Policy" &&
              TLS_POLICIES.includes(AttributeValue);
        if (!isGood) throw new Refusal("InvalidConfigurationRequest", AttributeValue);
        return { ...state, policies: [...state.policies, { PolicyName, PolicyTypeName }] };
      }),
    "elb:SetLoadBalancerPoliciesForBackendServer": ({ LoadBalancerName, InstancePort, PolicyNames = [] }) =>
      this.#change(LoadBalancerName, (state) => {
        const { BackendServerDescriptions: before = [], ListenerDescriptions = [] } = state.loadBalancer;
        checkPolicies(state, PolicyNames);
        const isServed = ListenerDescriptions.some(({ Listener: one }) => one?.InstancePort === InstancePort);
        if (!isServed && PolicyNames.length > 0)
          throw new Refusal("InvalidConfigurationRequest", "no listener");
        const others = before.filter((each) => each.InstancePort !== InstancePort);
        const own = PolicyNames.length === 0 ? [] : [{ InstancePort, PolicyNames }];
        return {
          ...state,
          loadBalancer: { ...state.loadBalancer, BackendServerDescriptions: [...others, ...own] },
        };
      }),
    "elb:SetLoadBalancerPoliciesOfListener": ({ LoadBalancerName, LoadBalancerPort, PolicyNames = [] }) => {
      const state = this.#get(LoadBalancerName);
      checkPolicies(state, PolicyNames);
      const ofTls = state.policies.filter(
        ({ PolicyName = "", PolicyTypeName }) =>
          PolicyNames.includes(PolicyName) && PolicyTypeName === "SSLNegotiationPolicyType",
      );
      if (ofTls.length > 1) throw new Refusal("InvalidConfigurationRequest", "two policies of TLS");
      return this.#listenerOf(LoadBalancerName, LoadBalancerPort, (each) => {
        if (ofTls.length > 0 && each.Listener?.SSLCertificateId === undefined)
          throw new Refusal("InvalidConfigurationRequest", "not TLS");
        return { ...each, PolicyNames };
      });
    },
    "elb:AttachLoadBalancerToSubnets": ({ LoadBalancerName, Subnets: added = [] }) =>
      this.#describe(LoadBalancerName, ({ Subnets: before = [] }) => ({
        Subnets: this.#zones([...new Set([...before, ...added])]),
      })),
    "elb:DetachLoadBalancerFromSubnets": ({ LoadBalancerName, Subnets: gone = [] }) =>
      this.#describe(LoadBalancerName, ({ Subnets: before = [] }) => ({
        Subnets: this.#zones(before.filter((id) => !gone.includes(id))),
      })),
    "elb:ApplySecurityGroupsToLoadBalancer": ({ LoadBalancerName, SecurityGroups: ids = [] }) =>
      this.#describe(LoadBalancerName, () => ({ SecurityGroups: this.#groups(ids) })),
    "elb:ConfigureHealthCheck": ({ LoadBalancerName, HealthCheck: check }) =>
      this.#describe(LoadBalancerName, () => {
        const {
          Target = "",
          Interval = 0,
          Timeout = 0,
          HealthyThreshold = 0,
          UnhealthyThreshold = 0,
        } = check ?? {};
        const isGood =
          /^(?:(?:TCP|SSL):\d+|HTTPS?:\d+\/.*)$/.test(Target) &&
          isWithin(Number(/:(\d+)/.exec(Target)?.[1]), 1, 65_535) &&
          isWithin(Interval, 5, 300) &&
          isWithin(Timeout, 2, 60) &&
          Timeout < Interval &&
          isWithin(HealthyThreshold, 2, 10) &&
          isWithin(UnhealthyThreshold, 2, 10);
        if (!isGood) throw new Refusal("ValidationError", JSON.stringify(check));
        return { HealthCheck: { Target, Interval, Timeout, HealthyThreshold, UnhealthyThreshold } };
      }),
    "elb:ModifyLoadBalancerAttributes": ({ LoadBalancerName, LoadBalancerAttributes: change = {} }) =>
      this.#change(LoadBalancerName, (state) => {
        const { AccessLog, ConnectionDraining, ConnectionSettings } = change;
        const isGood =
          (AccessLog?.Enabled !== true ||
            (AccessLog.S3BucketName !== undefined && [5, 60].includes(AccessLog.EmitInterval ?? 60))) &&
          (ConnectionDraining?.Enabled !== true || isWithin(ConnectionDraining.Timeout ?? 300, 1, 3_600)) &&
          (ConnectionSettings === undefined || isWithin(ConnectionSettings.IdleTimeout ?? 0, 1, 4_000));
        if (!isGood) throw new Refusal("InvalidConfigurationRequest", JSON.stringify(change));
        const draining = ConnectionDraining && { Timeout: 300, ...ConnectionDraining };
        const changed = draining === undefined ? change : { ...change, ConnectionDraining: draining };
        return { ...state, attributes: { ...state.attributes, ...changed } };
      }),
  };

  #create(request: AwsRequests["elb:CreateLoadBalancer"]): object {
    const {
      LoadBalancerName: name = "",
      Listeners = [],
      Subnets = [],
      SecurityGroups = [],
      Tags = [],
    } = request;
    if (!/^[A-Za-z0-9-]{1,32}$/.test(name)) throw new Refusal("ValidationError", name);
    if (this.classics.has(name)) throw new Refusal("DuplicateLoadBalancerName", name);
    if (Listeners.length === 0) throw new Refusal("ValidationError", "no listener");
    if (new Set(Tags.map(({ Key }) => Key)).size < Tags.length) throw new Refusal("DuplicateTagKeys");
    if (Tags.length > 50) throw new Refusal("TooManyTags");
    const ListenerDescriptions = Listeners.map((each) => this.#listener(each));
    const [first] = Listeners;
    const DNSName = `${request.Scheme === "internal" ? "internal-" : ""}${name}-1234.eu-central-1.elb.amazonaws.com`;
    const state: ClassicLoadBalancerState = {
      loadBalancer: {
        LoadBalancerName: name,
        DNSName,
        Scheme: request.Scheme ?? "internet-facing",
        ListenerDescriptions,
        Subnets: this.#zones([...Subnets]),
        SecurityGroups: this.#groups([...SecurityGroups]),
        Instances: [],
        BackendServerDescriptions: [],
        HealthCheck: {
          Target: `TCP:${first?.InstancePort}`,
          Interval: 30,
          Timeout: 5,
          UnhealthyThreshold: 2,
          HealthyThreshold: 10,
        },
      },
      tags: Object.fromEntries(Tags.map(({ Key, Value = "" }) => [Key, Value])),
      attributes: {
        AccessLog: { Enabled: false },
        ConnectionDraining: { Enabled: false, Timeout: 300 },
        ConnectionSettings: { IdleTimeout: 60 },
        CrossZoneLoadBalancing: { Enabled: false },
        AdditionalAttributes: [{ Key: "elb.http.desyncmitigationmode", Value: "defensive" }],
      },
      policies: [],
    };
    this.classics.set(name, withDefaultPolicy(state));
    this.#hidden.set(name, this.lag.invisible);
    return { DNSName };
  }

  #listener(listener: Listener): ListenerDescription {
    const { LoadBalancerPort: port = 0, InstancePort = 0, Protocol = "", InstanceProtocol = "" } = listener;
    const [front, back] = [Protocol.toUpperCase(), InstanceProtocol.toUpperCase()];
    const isTls = front === "HTTPS" || front === "SSL";
    const layer = (protocol: string): string => (protocol.startsWith("HTTP") ? "HTTP" : "TCP");
    const isGood =
      isWithin(port, 1, 65_535) &&
      isWithin(InstancePort, 1, 65_535) &&
      ["TCP", "SSL", "HTTP", "HTTPS"].includes(front) &&
      ["TCP", "SSL", "HTTP", "HTTPS"].includes(back) &&
      layer(front) === layer(back) &&
      isTls === (listener.SSLCertificateId !== undefined);
    if (!isGood) throw new Refusal("ValidationError", JSON.stringify(listener));
    if (isTls && !CERTIFICATES.includes(listener.SSLCertificateId ?? ""))
      throw new Refusal("CertificateNotFound");
    return {
      Listener: { ...listener, Protocol: front, InstanceProtocol: back },
      PolicyNames: isTls ? ["ELBSecurityPolicy-2016-08"] : [],
    };
  }

  #zones(ids: readonly string[]): string[] {
    const zones = ids.map((id) => {
      const found = this.subnets.find(({ subnet }) => subnet.SubnetId === id);
      if (found === undefined) throw new Refusal("SubnetNotFound", id);
      return found.subnet.AvailabilityZone;
    });
    if (zones.length === 0 || new Set(zones).size < zones.length)
      throw new Refusal("InvalidConfigurationRequest", `subnets ${ids.join()}`);
    return [...ids];
  }

  #groups(ids: readonly string[]): string[] {
    if (ids.length === 0 || ids.length > 5 || ids.some((id) => !this.security.groups.has(id)))
      throw new Refusal("InvalidSecurityGroup", ids.join());
    return [...ids];
  }

  #checkInstance(id: string): void {
    const state = this.instances[id]?.state;
    if (state === undefined || state === "terminated") throw new Refusal("InvalidInstance", id);
  }

  #get(name = ""): ClassicLoadBalancerState {
    const state = this.classics.get(name);
    if (state === undefined) throw new Refusal("LoadBalancerNotFound", name);
    return state;
  }

  #change(
    name: string | undefined,
    change: (state: ClassicLoadBalancerState) => ClassicLoadBalancerState,
  ): object {
    this.classics.set(name ?? "", change(this.#get(name)));
    return {};
  }

  #describe(
    name: string | undefined,
    change: (
      before: ClassicLoadBalancerState["loadBalancer"],
    ) => Partial<ClassicLoadBalancerState["loadBalancer"]>,
  ): object {
    return this.#change(name, (state) => ({
      ...state,
      loadBalancer: { ...state.loadBalancer, ...change(state.loadBalancer) },
    }));
  }

  #listenerOf(
    name: string | undefined,
    port: number | undefined,
    change: (before: ListenerDescription) => ListenerDescription,
  ): object {
    return this.#describe(name, ({ ListenerDescriptions: all = [] }) => {
      if (!all.some(({ Listener: one }) => one?.LoadBalancerPort === port))
        throw new Refusal("ListenerNotFound", String(port));
      return {
        ListenerDescriptions: all.map((each) =>
          each.Listener?.LoadBalancerPort === port ? change(each) : each,
        ),
      };
    });
  }
}

function isWithin(value: number, from: number, to: number): boolean {
  return Number.isInteger(value) && value >= from && value <= to;
}

function checkPolicies({ policies }: ClassicLoadBalancerState, names: readonly string[]): void {
  for (const name of names)
    if (!policies.some(({ PolicyName }) => PolicyName === name)) throw new Refusal("PolicyNotFound", name);
}

/** The first policy of a TLS listener is one of the load balancer's. */
function withDefaultPolicy(state: ClassicLoadBalancerState): ClassicLoadBalancerState {
  const name = "ELBSecurityPolicy-2016-08";
  const isUsed = state.loadBalancer.ListenerDescriptions?.some(({ PolicyNames }) =>
    PolicyNames?.includes(name),
  );
  if (!isUsed || state.policies.some(({ PolicyName }) => PolicyName === name)) return state;
  const policy = { PolicyName: name, PolicyTypeName: "SSLNegotiationPolicyType" };
  return { ...state, policies: [...state.policies, policy] };
}
