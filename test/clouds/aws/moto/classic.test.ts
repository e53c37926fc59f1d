import { TerminateInstancesCommand } from "@aws-sdk/client-ec2";
import {
  AttachLoadBalancerToSubnetsCommand,
  type CreateAccessPointInput,
  CreateLoadBalancerCommand,
  CreateLoadBalancerListenersCommand,
  CreateLoadBalancerPolicyCommand,
  DeleteLoadBalancerCommand,
  DeleteLoadBalancerListenersCommand,
  DeregisterInstancesFromLoadBalancerCommand,
  DescribeLoadBalancerAttributesCommand,
  DescribeLoadBalancersCommand,
  DescribeTagsCommand,
  type Listener,
  ModifyLoadBalancerAttributesCommand,
  RegisterInstancesWithLoadBalancerCommand,
  SetLoadBalancerListenerSSLCertificateCommand,
  SetLoadBalancerPoliciesForBackendServerCommand,
} from "@aws-sdk/client-elastic-load-balancing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectViolations } from "#test/aws-models/aws-calls.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { type Clients, createClients, getErrorCode } from "./clients.ts";
import { makeNetwork, type Network } from "./make-network.ts";
import { type MendedMoto, startMendedMoto } from "./start-mended-moto.ts";

describeWithPart("moto", "classic load balancers on mended moto", (program) => {
  let moto: MendedMoto;
  let aws: Clients;
  let network: Network;
  let named = 0;

  beforeAll(async () => {
    moto = await startMendedMoto(program);
    aws = createClients(moto.url);
    network = await makeNetwork(aws.ec2, { clusterTag: "one" });
  });
  afterAll(async () => {
    aws?.close();
    await moto?.close();
  });

  const listener = (port: number, difference: Partial<Listener> = {}): Listener => ({
    Protocol: "TCP",
    LoadBalancerPort: port,
    InstanceProtocol: "TCP",
    InstancePort: 30_000 + port,
    ...difference,
  });
  const load = async (difference: Partial<CreateAccessPointInput> = {}) => {
    const LoadBalancerName = `classic-${++named}`;
    const made = await aws.elb.send(
      new CreateLoadBalancerCommand({
        LoadBalancerName,
        Subnets: [network.subnets[0]],
        SecurityGroups: [network.nodeGroup],
        Listeners: [listener(80)],
        ...difference,
      }),
    );
    return { LoadBalancerName, DNSName: made.DNSName };
  };
  const describe = async (LoadBalancerName: string) =>
    (await aws.elb.send(new DescribeLoadBalancersCommand({ LoadBalancerNames: [LoadBalancerName] })))
      .LoadBalancerDescriptions?.[0];

  test("have a host name of their region, and another one after they are made again", async () => {
    const one = await load();
    expect(one.DNSName).toMatch(/^classic-\d+-\d+\.eu-central-1\.elb\.amazonaws\.com$/);
    expect(await describe(one.LoadBalancerName)).toMatchObject({ DNSName: one.DNSName });
    const internal = await load({ Scheme: "internal" });
    expect(internal.DNSName).toMatch(/^internal-classic-/);
    expect(await describe(internal.LoadBalancerName)).toMatchObject({
      DNSName: internal.DNSName,
      Scheme: "internal",
    });
    const { LoadBalancerName } = one;
    await aws.elb.send(new DeleteLoadBalancerCommand({ LoadBalancerName }));
    expect((await load({ LoadBalancerName })).DNSName).not.toBe(one.DNSName);
  });

  test("keep the protocol of instances, and start with a health check", async () => {
    const { LoadBalancerName } = await load({
      Listeners: [
        listener(443, {
          Protocol: "SSL",
          SSLCertificateId: "arn:aws:iam::123456789012:server-certificate/a",
        }),
      ],
    });
    expect(await describe(LoadBalancerName)).toMatchObject({
      ListenerDescriptions: [
        {
          Listener: { Protocol: "SSL", InstanceProtocol: "TCP", LoadBalancerPort: 443, InstancePort: 30_443 },
        },
      ],
      HealthCheck: {
        Target: "TCP:30443",
        Interval: 30,
        Timeout: 5,
        UnhealthyThreshold: 2,
        HealthyThreshold: 10,
      },
    });
    expect(await getErrorCode(load({ Listeners: [listener(80, { Protocol: "HTTP" })] }))).toBe(
      "InvalidConfigurationRequest",
    );
  });

  test("lose the deleted listeners, several at once", async () => {
    const { LoadBalancerName } = await load({ Listeners: [listener(80), listener(81), listener(82)] });
    await aws.elb.send(
      new DeleteLoadBalancerListenersCommand({ LoadBalancerName, LoadBalancerPorts: [80, 82] }),
    );
    await aws.elb.send(
      new CreateLoadBalancerListenersCommand({
        LoadBalancerName,
        Listeners: [listener(83, { Protocol: "HTTP", InstanceProtocol: "HTTP" })],
      }),
    );
    const ports = (await describe(LoadBalancerName))?.ListenerDescriptions?.map(({ Listener: each }) => [
      each?.LoadBalancerPort,
      each?.InstanceProtocol,
    ]);
    expect(ports).toEqual([
      [81, "TCP"],
      [83, "HTTP"],
    ]);
    const other = listener(81, { InstancePort: 1 });
    const made = aws.elb.send(
      new CreateLoadBalancerListenersCommand({ LoadBalancerName, Listeners: [other] }),
    );
    expect(await getErrorCode(made)).toBe("DuplicateListener");
  });

  test("take another certificate on a listener", async () => {
    const [one, other] = ["a", "b"].map((name) => `arn:aws:iam::123456789012:server-certificate/${name}`);
    const { LoadBalancerName } = await load({
      Listeners: [listener(443, { Protocol: "SSL", SSLCertificateId: one })],
    });
    await aws.elb.send(
      new SetLoadBalancerListenerSSLCertificateCommand({
        LoadBalancerName,
        LoadBalancerPort: 443,
        SSLCertificateId: other,
      }),
    );
    expect((await describe(LoadBalancerName))?.ListenerDescriptions).toMatchObject([
      { Listener: { SSLCertificateId: other } },
    ]);
  });

  test("have policies on the backends of later listeners, too", async () => {
    const { LoadBalancerName } = await load();
    await aws.elb.send(
      new CreateLoadBalancerListenersCommand({ LoadBalancerName, Listeners: [listener(81)] }),
    );
    const set = (InstancePort: number, ...PolicyNames: string[]) =>
      aws.elb.send(
        new SetLoadBalancerPoliciesForBackendServerCommand({ LoadBalancerName, InstancePort, PolicyNames }),
      );
    expect(await getErrorCode(set(30_081, "proxy"))).toBe("PolicyNotFound");
    const policy = new CreateLoadBalancerPolicyCommand({
      LoadBalancerName,
      PolicyName: "proxy",
      PolicyTypeName: "ProxyProtocolPolicyType",
      PolicyAttributes: [{ AttributeName: "ProxyProtocol", AttributeValue: "true" }],
    });
    await aws.elb.send(policy);
    expect(await getErrorCode(aws.elb.send(policy))).toBe("DuplicatePolicyName");
    await set(30_081, "proxy");
    expect((await describe(LoadBalancerName))?.BackendServerDescriptions).toEqual([
      { InstancePort: 30_081, PolicyNames: ["proxy"] },
    ]);
    await set(30_081);
    expect((await describe(LoadBalancerName))?.BackendServerDescriptions).toEqual([]);
    expect(await getErrorCode(set(1, "proxy"))).toBe("InvalidConfigurationRequest");
  });

  test("keep policies of an instance port without listener until the policies are removed", async () => {
    const { LoadBalancerName } = await load({ Listeners: [listener(80), listener(81)] });
    const set = (InstancePort: number, ...PolicyNames: string[]) =>
      aws.elb.send(
        new SetLoadBalancerPoliciesForBackendServerCommand({ LoadBalancerName, InstancePort, PolicyNames }),
      );
    const policy = new CreateLoadBalancerPolicyCommand({
      LoadBalancerName,
      PolicyName: "proxy",
      PolicyTypeName: "ProxyProtocolPolicyType",
      PolicyAttributes: [{ AttributeName: "ProxyProtocol", AttributeValue: "true" }],
    });
    await aws.elb.send(policy);
    await set(30_081, "proxy");
    await aws.elb.send(new DeleteLoadBalancerListenersCommand({ LoadBalancerName, LoadBalancerPorts: [81] }));
    expect((await describe(LoadBalancerName))?.BackendServerDescriptions).toEqual([
      { InstancePort: 30_081, PolicyNames: ["proxy"] },
    ]);
    await set(30_081);
    expect((await describe(LoadBalancerName))?.BackendServerDescriptions).toEqual([]);
    expect(await getErrorCode(set(30_081, "proxy"))).toBe("InvalidConfigurationRequest");
  });

  test("register an instance once, and no instance of a call with a missing one", async () => {
    const { LoadBalancerName } = await load();
    const [one = "", other = ""] = await network.launch(2);
    const register = (...ids: string[]) =>
      aws.elb.send(
        new RegisterInstancesWithLoadBalancerCommand({
          LoadBalancerName,
          Instances: ids.map((InstanceId) => ({ InstanceId })),
        }),
      );
    const ids = async () =>
      (await describe(LoadBalancerName))?.Instances?.map(({ InstanceId }) => InstanceId);
    expect(await getErrorCode(register(one, "i-0123456789abcdef0"))).toBe("InvalidInstance");
    expect(await ids()).toEqual([]);
    expect((await register(one)).Instances).toEqual([{ InstanceId: one }]);
    expect((await register(one, other)).Instances).toEqual([{ InstanceId: one }, { InstanceId: other }]);
    expect(await ids()).toEqual([one, other]);
    await aws.elb.send(
      new DeregisterInstancesFromLoadBalancerCommand({
        LoadBalancerName,
        Instances: [{ InstanceId: one }, { InstanceId: "i-0123456789abcdef0" }],
      }),
    );
    expect(await ids()).toEqual([other]);
    await aws.ec2.send(new TerminateInstancesCommand({ InstanceIds: [one] }));
    expect(await getErrorCode(register(one))).toBe("InvalidInstance");
  });

  test("have at most one subnet in a zone", async () => {
    const { LoadBalancerName } = await load();
    const attach = (id: string) =>
      aws.elb.send(new AttachLoadBalancerToSubnetsCommand({ LoadBalancerName, Subnets: [id] }));
    await attach(network.subnets[1]);
    const twin = await network.twinSubnet();
    expect(await getErrorCode(attach(twin))).toBe("InvalidConfigurationRequest");
    expect(await getErrorCode(load({ Subnets: [network.subnets[0], twin] }))).toBe(
      "InvalidConfigurationRequest",
    );
  });

  test("have default attributes, and each once", async () => {
    const { LoadBalancerName } = await load();
    const attributes = async () =>
      (await aws.elb.send(new DescribeLoadBalancerAttributesCommand({ LoadBalancerName })))
        .LoadBalancerAttributes;
    expect(await attributes()).toMatchObject({
      ConnectionDraining: { Enabled: false, Timeout: 300 },
      ConnectionSettings: { IdleTimeout: 60 },
      CrossZoneLoadBalancing: { Enabled: false },
      AccessLog: { Enabled: false },
      AdditionalAttributes: [{ Key: "elb.http.desyncmitigationmode", Value: "defensive" }],
    });
    const modify = new ModifyLoadBalancerAttributesCommand({
      LoadBalancerName,
      LoadBalancerAttributes: { CrossZoneLoadBalancing: { Enabled: true } },
    });
    await aws.elb.send(modify);
    await aws.elb.send(modify);
    const after = await attributes();
    expect(after).toMatchObject({ CrossZoneLoadBalancing: { Enabled: true } });
    expect(after?.AdditionalAttributes).toHaveLength(1);
  });

  test("that do not exist fail each operation on them", async () => {
    const LoadBalancerName = "unknown";
    const attributes = new DescribeLoadBalancerAttributesCommand({ LoadBalancerName });
    expect(await getErrorCode(aws.elb.send(attributes))).toBe("LoadBalancerNotFound");
    const { LoadBalancerName: known } = await load();
    const names = (...LoadBalancerNames: string[]) =>
      getErrorCode(aws.elb.send(new DescribeLoadBalancersCommand({ LoadBalancerNames })));
    expect(await names(known, "unknown")).toBe("LoadBalancerNotFound");
    expect(await getErrorCode(load({ LoadBalancerName: known }))).toBe("DuplicateLoadBalancerName");
    expect(await getErrorCode(aws.elb.send(new DeleteLoadBalancerCommand({ LoadBalancerName })))).toBe(
      "succeeded",
    );
    expectViolations("elb:DescribeTags request LoadBalancerNames size");
    const tags = new DescribeTagsCommand({ LoadBalancerNames: Array.from({ length: 21 }, () => known) });
    expect(await getErrorCode(aws.elb.send(tags))).toBe("ValidationError");
  });

  test("come in pages of 400, or of the requested size", async () => {
    await Promise.all(Array.from({ length: 60 }, () => load()));
    const all = await aws.elb.send(new DescribeLoadBalancersCommand({}));
    expect(all.LoadBalancerDescriptions?.length).toBeGreaterThan(60);
    expect(all.NextMarker ?? "").toBe("");
    const two = await aws.elb.send(new DescribeLoadBalancersCommand({ PageSize: 2 }));
    const next = await aws.elb.send(
      new DescribeLoadBalancersCommand({ PageSize: 2, Marker: two.NextMarker }),
    );
    expect(next.LoadBalancerDescriptions?.[0]).toEqual(all.LoadBalancerDescriptions?.[2]);
  });
});
