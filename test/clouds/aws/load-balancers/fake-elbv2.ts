import type {
  Listener,
  LoadBalancer,
  TargetDescription,
  TargetGroup,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import type { AwsActionName, AwsRequests } from "#clouds/aws/load-balancers/actions.ts";
import type {
  AddressState,
  AwsLoadBalancerState,
  NetworkLoadBalancerState,
  Pairs,
  SecurityGroupState,
  TargetGroupState,
  VpcState,
} from "#clouds/aws/load-balancers/state.ts";
import { applyVpcResult } from "#clouds/aws/load-balancers/vpc/apply-result.ts";
import { buildPermissions, parsePermissions, subtractRules } from "#clouds/aws/load-balancers/vpc/rules.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";
import { checkCall } from "#test/aws-models/aws-calls.ts";

/** An error in AWS's words. */
export class AwsError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

interface Balancer {
  loadBalancer: LoadBalancer;
  tags: Record<string, string>;
  attributes: Record<string, string>;
}
interface Group {
  group: TargetGroup;
  tags: Record<string, string>;
  attributes: Record<string, string>;
  targets: TargetDescription[];
}
interface Front {
  listener: Listener;
  tags: Record<string, string>;
}

/** ELBv2, as strict as AWS where plans could go wrong. It knows only its own state. */
export class FakeElbv2 {
  readonly balancers: Map<string, Balancer>;
  readonly groups: Map<string, Group>;
  readonly listeners: Map<string, Front>;
  /** Elastic IP addresses: free and without tags. */
  addresses: Readonly<Record<string, AddressState>> = Object.fromEntries(
    [1, 2, 3].map((number) => [`eipalloc-${number}`, { tags: {}, isInUse: false }]),
  );
  vpc: VpcState;
  /** Every action that was carried out. */
  readonly done: LoadBalancerAction[] = [];
  readonly #counter: { count: number };

  /** Two VPCs of one account share their load balancers, target groups and listeners. */
  constructor(vpc: VpcState, account?: FakeElbv2) {
    this.vpc = vpc;
    this.balancers = account?.balancers ?? new Map();
    this.groups = account?.groups ?? new Map();
    this.listeners = account?.listeners ?? new Map();
    this.#counter = account === undefined ? { count: 0 } : account.#counter;
  }

  /** Carries out an action, or throws AWS's error. */
  apply(action: LoadBalancerAction): unknown {
    checkCall(action.action, "request", action.parameters);
    const result = this.#perform(action);
    checkCall(action.action, "answer", result);
    return result;
  }

  #perform(action: LoadBalancerAction): object {
    const name = action.action as AwsActionName;
    if (name.startsWith("ec2:")) return this.#ec2(action);
    const operation = OPERATIONS[name];
    if (operation === undefined) throw new Error(`the fake knows no ${name}`);
    const result = operation(this, action.parameters as never);
    this.done.push(action);
    return structuredClone(result);
  }

  /** Returns the observation for a load balancer's name, a Service and a cluster's tag. */
  observe(name: string, service: string, clusterTag: string): AwsLoadBalancerState {
    const balancer = [...this.balancers.values()].find(
      ({ loadBalancer }) => loadBalancer.LoadBalancerName === name,
    );
    const arn = balancer?.loadBalancer.LoadBalancerArn;
    const network: NetworkLoadBalancerState | undefined =
      balancer === undefined
        ? undefined
        : {
            ...balancer,
            listeners: [...this.listeners.values()].filter(
              ({ listener }) => listener.LoadBalancerArn === arn,
            ),
          };
    const targetGroups = [...this.groups.values()]
      .map((each) => ({ ...each, group: { ...each.group, LoadBalancerArns: this.usersOf(each.group) } }))
      .filter(
        ({ group, tags }) =>
          (arn !== undefined && group.LoadBalancerArns.includes(arn)) ||
          (tags["kubernetes.io/service-name"] === service &&
            tags[`kubernetes.io/cluster/${clusterTag}`] === "owned"),
      ) satisfies TargetGroupState[];
    const { addresses, vpc } = this;
    if (network !== undefined) {
      const { loadBalancer, listeners } = network;
      checkCall("elbv2:DescribeLoadBalancers", "answer", { LoadBalancers: [loadBalancer] });
      checkCall("elbv2:DescribeListeners", "answer", { Listeners: listeners.map((each) => each.listener) });
    }
    checkCall("elbv2:DescribeTargetGroups", "answer", {
      TargetGroups: targetGroups.map(({ group }) => group),
    });
    return structuredClone({
      ...(network === undefined ? {} : { network }),
      ...{ targetGroups, vpc, addresses },
    });
  }

  next(): string {
    this.#counter.count += 1;
    return String(this.#counter.count).padStart(4, "0");
  }

  /** Returns the load balancers whose listeners send to a target group. */
  usersOf({ TargetGroupArn }: TargetGroup): string[] {
    const arns = [...this.listeners.values()].flatMap(({ listener }) =>
      listener.DefaultActions?.some((each) => each.TargetGroupArn === TargetGroupArn)
        ? [listener.LoadBalancerArn ?? ""]
        : [],
    );
    return [...new Set(arns)];
  }

  #checkNew({ GroupId, IpPermissions = [] }: AwsRequests["ec2:AuthorizeSecurityGroupIngress"]): void {
    const there = this.vpc.groups.find(({ group }) => group.GroupId === GroupId)?.ingress ?? [];
    const added = parsePermissions(IpPermissions);
    if (subtractRules(added, parsePermissions(there)).length < added.length)
      throw new AwsError("InvalidPermission.Duplicate", `${GroupId}`);
  }

  #ec2(action: LoadBalancerAction): object {
    const result: { GroupId?: string } = {};
    const parameters = action.parameters as { GroupName?: string; GroupId?: string };
    const groups: readonly SecurityGroupState[] = this.vpc.groups;
    if (action.action === "ec2:CreateSecurityGroup") {
      if (groups.some(({ group }) => group.GroupName === parameters.GroupName))
        throw new AwsError("InvalidGroup.Duplicate", `${parameters.GroupName}`);
      result.GroupId = `sg-${this.next()}`;
    } else if (parameters.GroupId !== undefined) {
      if (!groups.some(({ group }) => group.GroupId === parameters.GroupId))
        throw new AwsError("InvalidGroup.NotFound", parameters.GroupId);
    }
    if (action.action === "ec2:AuthorizeSecurityGroupIngress") this.#checkNew(action.parameters as never);
    if (action.action === "ec2:DeleteSecurityGroup") {
      const isUsed = [...this.balancers.values()].some(({ loadBalancer }) =>
        loadBalancer.SecurityGroups?.includes(parameters.GroupId ?? ""),
      );
      const isNamed = groups.some(({ ingress }) =>
        parsePermissions(ingress).some(({ from, peer }) => from === "group" && peer === parameters.GroupId),
      );
      if (isUsed || isNamed) throw new AwsError("DependencyViolation", `${parameters.GroupId}`);
    }
    if (action.action === "ec2:UpdateSecurityGroupRuleDescriptionsIngress")
      this.#describe(action.parameters as never);
    this.vpc = applyVpcResult(this.vpc, action, result);
    this.done.push(action);
    return result;
  }

  #describe({ GroupId, IpPermissions = [] }: AwsRequests["ec2:UpdateSecurityGroupRuleDescriptionsIngress"]) {
    const changed = parsePermissions(IpPermissions);
    this.vpc = {
      ...this.vpc,
      groups: this.vpc.groups.map((of) => {
        if (of.group.GroupId !== GroupId) return of;
        const kept = subtractRules(parsePermissions(of.ingress), changed);
        if (kept.length + changed.length !== parsePermissions(of.ingress).length)
          throw new AwsError("InvalidPermission.NotFound", `${GroupId}`);
        return { ...of, ingress: buildPermissions([...kept, ...changed]) };
      }),
    };
  }
}

type Operations = {
  readonly [Name in AwsActionName]?: (aws: FakeElbv2, request: AwsRequests[Name]) => object;
};

const OPERATIONS: Operations = {
  "elbv2:CreateLoadBalancer"(aws, request) {
    const { Name = "", Scheme = "internet-facing", SubnetMappings = [], Tags = [], Type } = request;
    if (!/^(?!internal-)(?!-)[0-9A-Za-z-]{1,32}$/.test(Name)) throw new AwsError("ValidationError", Name);
    const twin = [...aws.balancers.values()].find(
      ({ loadBalancer }) => loadBalancer.LoadBalancerName === Name,
    );
    if (twin !== undefined) {
      const isSame =
        twin.loadBalancer.Scheme === Scheme &&
        sameSet(subnetsOf(twin.loadBalancer), subnetsIn(SubnetMappings)) &&
        sameSet(twin.loadBalancer.SecurityGroups ?? [], request.SecurityGroups ?? []);
      if (!isSame) throw new AwsError("DuplicateLoadBalancerName", Name);
      return { LoadBalancers: [twin.loadBalancer] };
    }
    checkPrefixes(request.EnablePrefixForIpv6SourceNat, request.IpAddressType);
    const id = aws.next();
    const loadBalancer: LoadBalancer = {
      LoadBalancerArn: `arn:aws:elasticloadbalancing:eu-central-1:123456789012:loadbalancer/net/${Name}/${id}`,
      DNSName: `${Name}-${id}.elb.eu-central-1.amazonaws.com`,
      LoadBalancerName: Name,
      Scheme,
      Type,
      VpcId: aws.vpc.id,
      State: { Code: "provisioning" },
      IpAddressType: request.IpAddressType ?? "ipv4",
      AvailabilityZones: zonesOf(aws, SubnetMappings),
      ...(request.SecurityGroups === undefined ? {} : { SecurityGroups: request.SecurityGroups }),
      EnablePrefixForIpv6SourceNat: request.EnablePrefixForIpv6SourceNat ?? "off",
    };
    const attributes = {
      "load_balancing.cross_zone.enabled": "false",
      "access_logs.s3.enabled": "false",
      "access_logs.s3.bucket": "",
      "access_logs.s3.prefix": "",
      "deletion_protection.enabled": "false",
    };
    aws.balancers.set(loadBalancer.LoadBalancerArn ?? "", { loadBalancer, tags: pairs(Tags), attributes });
    return { LoadBalancers: [loadBalancer] };
  },
  "elbv2:DeleteLoadBalancer"(aws, { LoadBalancerArn = "" }) {
    const there = aws.balancers.get(LoadBalancerArn);
    if (there?.attributes["deletion_protection.enabled"] === "true")
      throw new AwsError("OperationNotPermitted", "deletion protection is enabled");
    for (const [arn, { listener }] of aws.listeners)
      if (listener.LoadBalancerArn === LoadBalancerArn) aws.listeners.delete(arn);
    // AWS reports no error if it does not exist.
    aws.balancers.delete(LoadBalancerArn);
    return {};
  },
  "elbv2:SetSecurityGroups"(aws, { LoadBalancerArn, SecurityGroups = [] }) {
    const { loadBalancer } = balancerOf(aws, LoadBalancerArn);
    if (loadBalancer.SecurityGroups === undefined)
      throw new AwsError("InvalidConfigurationRequest", "made without security groups");
    if (SecurityGroups.length === 0) throw new AwsError("ValidationError", "no security groups");
    for (const id of SecurityGroups)
      if (!aws.vpc.groups.some(({ group }) => group.GroupId === id))
        throw new AwsError("InvalidSecurityGroup", id);
    loadBalancer.SecurityGroups = SecurityGroups;
    return { SecurityGroupIds: SecurityGroups };
  },
  "elbv2:SetSubnets"(aws, request) {
    const { loadBalancer } = balancerOf(aws, request.LoadBalancerArn);
    const wanted = subnetsIn(request.SubnetMappings ?? []);
    const kept = subnetsOf(loadBalancer);
    if (kept.some((id) => !wanted.includes(id)))
      throw new AwsError("InvalidConfigurationRequest", "subnets cannot be taken away");
    const type = request.IpAddressType ?? loadBalancer.IpAddressType;
    const prefix = request.EnablePrefixForIpv6SourceNat ?? loadBalancer.EnablePrefixForIpv6SourceNat;
    checkPrefixes(prefix, type);
    checkFamily(aws, { ...loadBalancer, EnablePrefixForIpv6SourceNat: prefix }, type);
    loadBalancer.AvailabilityZones = zonesOf(aws, request.SubnetMappings ?? []);
    if (request.IpAddressType !== undefined) loadBalancer.IpAddressType = request.IpAddressType;
    if (request.EnablePrefixForIpv6SourceNat !== undefined)
      loadBalancer.EnablePrefixForIpv6SourceNat = request.EnablePrefixForIpv6SourceNat;
    return {
      AvailabilityZones: loadBalancer.AvailabilityZones,
      IpAddressType: loadBalancer.IpAddressType,
      EnablePrefixForIpv6SourceNat: loadBalancer.EnablePrefixForIpv6SourceNat,
    };
  },
  "elbv2:SetIpAddressType"(aws, { LoadBalancerArn, IpAddressType }) {
    const { loadBalancer } = balancerOf(aws, LoadBalancerArn);
    checkPrefixes(loadBalancer.EnablePrefixForIpv6SourceNat, IpAddressType);
    checkFamily(aws, loadBalancer, IpAddressType);
    loadBalancer.IpAddressType = IpAddressType;
    return { IpAddressType };
  },
  "elbv2:ModifyLoadBalancerAttributes"(aws, { LoadBalancerArn, Attributes = [] }) {
    const balancer = balancerOf(aws, LoadBalancerArn);
    const attributes = { ...balancer.attributes, ...pairs(Attributes) };
    if (attributes["access_logs.s3.enabled"] === "true" && !attributes["access_logs.s3.bucket"])
      throw new AwsError("InvalidConfigurationRequest", "access logs need a bucket");
    balancer.attributes = attributes;
    return { Attributes: Object.entries(attributes).map(([Key, Value]) => ({ Key, Value })) };
  },
  "elbv2:AddTags"(aws, { ResourceArns = [], Tags = [] }) {
    for (const arn of ResourceArns) {
      const of = taggedOf(aws, arn);
      of.tags = { ...of.tags, ...pairs(Tags) };
    }
    return {};
  },
  "elbv2:RemoveTags"(aws, { ResourceArns = [], TagKeys = [] }) {
    for (const arn of ResourceArns) {
      const of = taggedOf(aws, arn);
      of.tags = Object.fromEntries(Object.entries(of.tags).filter(([key]) => !TagKeys.includes(key)));
    }
    return {};
  },
  "elbv2:CreateTargetGroup"(aws, { Tags = [], ...request }) {
    const { Name = "" } = request;
    if (!/^(?!-)[0-9A-Za-z-]{1,32}(?<!-)$/.test(Name)) throw new AwsError("ValidationError", Name);
    const made: TargetGroup = {
      ...request,
      IpAddressType: request.IpAddressType ?? "ipv4",
      TargetGroupName: Name,
    };
    delete (made as { Name?: string }).Name;
    const twin = [...aws.groups.values()].find(({ group }) => group.TargetGroupName === Name);
    if (twin !== undefined) {
      const isSame = Object.entries(made).every(
        ([key, value]) => JSON.stringify(twin.group[key as keyof TargetGroup]) === JSON.stringify(value),
      );
      if (!isSame) throw new AwsError("DuplicateTargetGroupName", Name);
      return { TargetGroups: [twin.group] };
    }
    checkHealth(made);
    const arn = `arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/${Name}/${aws.next()}`;
    const group = { ...made, TargetGroupArn: arn };
    const attributes = { "preserve_client_ip.enabled": "true", "proxy_protocol_v2.enabled": "false" };
    aws.groups.set(arn, { group, tags: pairs(Tags), attributes, targets: [] });
    return { TargetGroups: [{ ...group, LoadBalancerArns: [] }] };
  },
  "elbv2:ModifyTargetGroup"(aws, { TargetGroupArn, ...changed }) {
    const of = groupOf(aws, TargetGroupArn);
    if (
      changed.HealthCheckProtocol !== undefined &&
      changed.HealthCheckProtocol !== of.group.HealthCheckProtocol
    )
      throw new AwsError("InvalidConfigurationRequest", "the protocol of health checks cannot be changed");
    const group = { ...of.group, ...changed };
    checkHealth(group);
    of.group = group;
    return { TargetGroups: [group] };
  },
  "elbv2:ModifyTargetGroupAttributes"(aws, { TargetGroupArn, Attributes = [] }) {
    const of = groupOf(aws, TargetGroupArn);
    const attributes = { ...of.attributes, ...pairs(Attributes) };
    if (attributes["preserve_client_ip.enabled"] === "false" && isUdpProtocol(of.group.Protocol))
      throw new AwsError("InvalidConfigurationRequest", "client IP preservation of UDP");
    of.attributes = attributes;
    return {};
  },
  "elbv2:DeleteTargetGroup"(aws, { TargetGroupArn = "" }) {
    const there = aws.groups.get(TargetGroupArn);
    if (there !== undefined && aws.usersOf(there.group).length > 0)
      throw new AwsError("ResourceInUse", TargetGroupArn);
    aws.groups.delete(TargetGroupArn);
    return {};
  },
  "elbv2:RegisterTargets"(aws, { TargetGroupArn, Targets = [] }) {
    const of = groupOf(aws, TargetGroupArn);
    for (const { Id = "" } of Targets) {
      const instance = aws.vpc.instances[Id];
      if (instance?.state !== "running") throw new AwsError("InvalidTarget", Id);
      if (of.group.IpAddressType === "ipv6" && instance.primaryIpv6 === undefined)
        throw new AwsError("InvalidTarget", `${Id} has no primary IPv6 address`);
    }
    const added = Targets.map(({ Id, Port = of.group.Port }) => ({ Id, Port }));
    of.targets = [
      ...of.targets.filter((each) => !added.some(({ Id, Port }) => Id === each.Id && Port === each.Port)),
      ...added,
    ];
    return {};
  },
  "elbv2:DeregisterTargets"(aws, { TargetGroupArn, Targets = [] }) {
    const of = groupOf(aws, TargetGroupArn);
    of.targets = of.targets.filter(
      (each) => !Targets.some(({ Id, Port = of.group.Port }) => Id === each.Id && Port === each.Port),
    );
    return {};
  },
  "elbv2:CreateListener"(aws, { Tags = [], ...request }) {
    const balancer = balancerOf(aws, request.LoadBalancerArn);
    const isTaken = [...aws.listeners.values()].some(
      ({ listener }) =>
        listener.LoadBalancerArn === request.LoadBalancerArn && listener.Port === request.Port,
    );
    if (isTaken) throw new AwsError("DuplicateListener", String(request.Port));
    const arn = `${request.LoadBalancerArn?.replace("loadbalancer", "listener")}/${aws.next()}`;
    const listener: Listener = { ...request, ListenerArn: arn };
    if (listener.Protocol === "TLS") listener.SslPolicy ??= "ELBSecurityPolicy-2016-08";
    checkListener(aws, listener, balancer.loadBalancer);
    aws.listeners.set(arn, { listener, tags: pairs(Tags) });
    return { Listeners: [listener] };
  },
  "elbv2:ModifyListener"(aws, { ListenerArn = "", ...changed }) {
    const there = aws.listeners.get(ListenerArn);
    if (there === undefined) throw new AwsError("ListenerNotFound", ListenerArn);
    const { loadBalancer } = balancerOf(aws, there.listener.LoadBalancerArn);
    const isOther = changed.Protocol !== undefined && changed.Protocol !== there.listener.Protocol;
    if (isOther && isUdpProtocol(changed.Protocol) && loadBalancer.IpAddressType === "dualstack")
      throw new AwsError("InvalidConfigurationRequest", "no listener becomes UDP in dual-stack mode");
    const listener: Listener = { ...there.listener, ...changed };
    if (listener.Protocol === "TLS") listener.SslPolicy ??= "ELBSecurityPolicy-2016-08";
    else {
      delete listener.SslPolicy;
      listener.Certificates = [];
    }
    checkListener(aws, listener, loadBalancer);
    there.listener = listener;
    return { Listeners: [listener] };
  },
  "elbv2:DeleteListener"(aws, { ListenerArn = "" }) {
    if (!aws.listeners.delete(ListenerArn)) throw new AwsError("ListenerNotFound", ListenerArn);
    return {};
  },
};

function checkListener(
  aws: FakeElbv2,
  listener: Listener,
  { IpAddressType, LoadBalancerArn, EnablePrefixForIpv6SourceNat }: LoadBalancer,
): void {
  const target = listener.DefaultActions?.[0]?.TargetGroupArn;
  const { group } = groupOf(aws, target);
  const fits: Readonly<Record<string, readonly string[]>> = {
    TCP: ["TCP"],
    UDP: ["UDP"],
    TCP_UDP: ["TCP_UDP"],
    TLS: ["TCP", "TLS"],
  };
  if (!fits[listener.Protocol ?? ""]?.includes(group.Protocol ?? ""))
    throw new AwsError("IncompatibleProtocols", `${listener.Protocol} ${group.Protocol}`);
  if (
    listener.Protocol === "TLS"
      ? listener.Certificates?.length !== 1
      : (listener.Certificates?.length ?? 0) > 0
  )
    throw new AwsError("ValidationError", "certificates");
  if (aws.usersOf(group).some((arn) => arn !== LoadBalancerArn))
    throw new AwsError("TargetGroupAssociationLimit", target ?? "");
  if (group.IpAddressType === "ipv6" && IpAddressType !== "dualstack")
    throw new AwsError("InvalidConfigurationRequest", "IPv6 targets need a dual-stack load balancer");
  if (
    isUdpProtocol(listener.Protocol) &&
    IpAddressType === "dualstack" &&
    EnablePrefixForIpv6SourceNat !== "on"
  )
    throw new AwsError("InvalidConfigurationRequest", "UDP needs the prefix for source NAT");
}

function checkFamily(aws: FakeElbv2, balancer: LoadBalancer, type: string | undefined): void {
  const own = [...aws.listeners.values()].filter(
    ({ listener }) => listener.LoadBalancerArn === balancer.LoadBalancerArn,
  );
  const isUdp = own.some(({ listener }) => isUdpProtocol(listener.Protocol));
  if (type === "dualstack" && isUdp && balancer.EnablePrefixForIpv6SourceNat !== "on")
    throw new AwsError("InvalidConfigurationRequest", "UDP listeners need the prefix for source NAT");
  const isIPv6 = own.some(
    ({ listener }) =>
      groupOf(aws, listener.DefaultActions?.[0]?.TargetGroupArn).group.IpAddressType === "ipv6",
  );
  if (type === "ipv4" && isIPv6)
    throw new AwsError("InvalidConfigurationRequest", "targets of IPv6 need a dual-stack load balancer");
}

function checkPrefixes(enabled: string | undefined, type: string | undefined): void {
  if (enabled === "on" && type !== "dualstack")
    throw new AwsError("InvalidConfigurationRequest", "the prefix for source NAT needs dualstack");
}

function checkHealth({
  HealthCheckIntervalSeconds = 30,
  HealthCheckTimeoutSeconds = 10,
  HealthyThresholdCount = 5,
}: TargetGroup): void {
  const isGood =
    HealthCheckIntervalSeconds >= 5 &&
    HealthCheckIntervalSeconds <= 300 &&
    HealthCheckTimeoutSeconds >= 2 &&
    HealthCheckTimeoutSeconds <= HealthCheckIntervalSeconds &&
    HealthyThresholdCount >= 2 &&
    HealthyThresholdCount <= 10;
  if (!isGood) throw new AwsError("ValidationError", "health check");
}

function isUdpProtocol(protocol: string | undefined): boolean {
  return protocol === "UDP" || protocol === "TCP_UDP";
}

function balancerOf(aws: FakeElbv2, arn: string | undefined): Balancer {
  const there = aws.balancers.get(arn ?? "");
  if (there === undefined) throw new AwsError("LoadBalancerNotFound", `${arn}`);
  return there;
}

function groupOf(aws: FakeElbv2, arn: string | undefined): Group {
  const there = aws.groups.get(arn ?? "");
  if (there === undefined) throw new AwsError("TargetGroupNotFound", `${arn}`);
  return there;
}

function taggedOf(aws: FakeElbv2, arn: string): { tags: Pairs } {
  const there = aws.balancers.get(arn) ?? aws.groups.get(arn) ?? aws.listeners.get(arn);
  if (there === undefined) throw new AwsError("LoadBalancerNotFound", arn);
  return there;
}

function zonesOf(
  aws: FakeElbv2,
  mappings: NonNullable<AwsRequests["elbv2:CreateLoadBalancer"]["SubnetMappings"]>,
): NonNullable<LoadBalancer["AvailabilityZones"]> {
  const zones = mappings.map(({ SubnetId, AllocationId, PrivateIPv4Address }) => {
    const subnet = aws.vpc.subnets.find((each) => each.subnet.SubnetId === SubnetId)?.subnet;
    if (subnet === undefined) throw new AwsError("SubnetNotFound", `${SubnetId}`);
    const address = {
      ...(AllocationId === undefined ? {} : { AllocationId }),
      ...(PrivateIPv4Address === undefined ? {} : { PrivateIPv4Address }),
    };
    return {
      ZoneName: subnet.AvailabilityZone,
      SubnetId,
      LoadBalancerAddresses: Object.keys(address).length === 0 ? [] : [address],
    };
  });
  if (new Set(zones.map(({ ZoneName }) => ZoneName)).size !== zones.length || zones.length === 0)
    throw new AwsError("InvalidConfigurationRequest", "one subnet for each zone");
  return zones;
}

function subnetsOf({ AvailabilityZones = [] }: LoadBalancer): string[] {
  return AvailabilityZones.flatMap(({ SubnetId }) => SubnetId ?? []);
}

function subnetsIn(mappings: readonly { readonly SubnetId?: string | undefined }[]): string[] {
  return mappings.flatMap(({ SubnetId }) => SubnetId ?? []);
}

function sameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each) => other.includes(each));
}

function pairs(
  list: readonly { readonly Key?: string | undefined; readonly Value?: string | undefined }[],
): Record<string, string> {
  return Object.fromEntries(list.flatMap(({ Key, Value = "" }) => (Key ? [[Key, Value]] : [])));
}
