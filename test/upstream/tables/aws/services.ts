import * as z from "zod";
import { readAnnotations } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { planListeners, readListeners } from "#clouds/aws/load-balancers/classic/listeners.ts";
import { getLoadBalancerKind } from "#clouds/aws/load-balancers/measure.ts";
import { awsLoadBalancerModel } from "#clouds/aws/load-balancers/model.ts";
import { formatTargetGroupName } from "#clouds/aws/load-balancers/names.ts";
import { readHealthCheck } from "#clouds/aws/load-balancers/network/health-check.ts";
import { precheck } from "#clouds/aws/load-balancers/precheck.ts";
import { selectTarget } from "#clouds/aws/load-balancers/select-target.ts";
import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import type { LoadBalancerQuestion } from "#core/service/model.ts";
import { Service } from "#core/service/service.ts";
import { hashLabels } from "#core/service/state-annotation.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";
import type { RecordedCases, RecordedTest } from "#test/upstream/tables/recorded-cases.ts";
import { type ComparedCase, type ControllerTables, explainCases } from "#test/upstream/tables/rows.ts";

// The tables of what the stock controller on AWS reads from a Service. Each upstream test calls one function with
// annotations and ports; the same question has one function here. Both sides accept or reject, with the same
// result. The words of an error are not compared. A Service without ports is accepted upstream by functions that
// do not read them, so it gets a port.

const SERVICES = "pkg/providers/v1/aws_test.go";
const LOAD_BALANCERS = "pkg/providers/v1/aws_loadbalancer_test.go";
const VALIDATIONS = "pkg/providers/v1/aws_validations_test.go";

const TESTS: readonly RecordedTest[] = [
  ...["TestIsNLB", "TestIsLBExternal", "TestFilterTargetNodes", "TestSyncElbListeners"].map((test) => ({
    file: LOAD_BALANCERS,
    test,
    loop: "test",
    values: { case: "test" },
  })),
  { file: LOAD_BALANCERS, test: "TestBuildTargetGroupName", loop: "tt", values: { case: "tt" } },
  ...["TestCheckMixedProtocol", "TestCheckProtocol", "TestBuildListener"].map((test) => ({
    file: SERVICES,
    test,
    loop: "test",
    values: { case: "test" },
  })),
  {
    file: SERVICES,
    test: "TestCloud_buildNLBHealthCheckConfiguration",
    loop: "tt",
    values: {
      case: "tt",
      global:
        "func() any { made := &config.CloudConfig{}; if tt.modifyConfig != nil { tt.modifyConfig(made) }; return made.Global }()",
    },
  },
  ...["TestValidateServiceAnnotationTargetGroupAttributes", "TestValidateServiceAnnotations"].map((test) => ({
    file: VALIDATIONS,
    test,
    loop: "tt",
    values: { case: "tt" },
  })),
];

/** The row of differences-on-aws.md that explains the case whose result differs. */
const EXPLANATIONS: Readonly<Record<string, string>> = explainCases(
  "TestValidateServiceAnnotationTargetGroupAttributes",
  "an attribute twice in `target-group-attributes`",
  ["duplicate attribute in annotation (last one wins - no error expected)"],
);

/** The tables about Services on AWS. */
export const awsServiceTables: ControllerTables = {
  name: "aws-service-tables",
  tests: TESTS,
  explanations: EXPLANATIONS,
  play: playCases,
};

const Annotations = z.record(z.string(), z.string()).nullish();
const Ports = z.array(z.looseObject({})).nullish();

const KindCase = z.object({
  case: z.object({ name: z.string(), annotations: Annotations, want: z.boolean().prefault(false) }),
});

const NameCase = z.object({
  case: z.object({
    name: z.string(),
    clusterID: z.string(),
    want: z.string(),
    args: z.object({
      serviceName: z.object({ Namespace: z.string(), Name: z.string() }),
      servicePort: z.int(),
      nodePort: z.int(),
      targetProtocol: z.string(),
      targetType: z.string(),
      nlbConfig: z
        .object({
          HealthCheckConfig: z.object({ Protocol: z.string(), Interval: z.int() }).optional(),
        })
        .prefault({}),
    }),
  }),
});

const FilterCase = z.object({
  case: z.object({
    name: z.string(),
    nodeLabels: z.record(z.string(), z.string()),
    annotations: Annotations,
    nodeTargeted: z.boolean().prefault(false),
  }),
});

const Listener = z.object({
  InstancePort: z.int(),
  InstanceProtocol: z.string(),
  LoadBalancerPort: z.int(),
  Protocol: z.string(),
  SSLCertificateId: z.string().optional(),
});

const SyncCase = z.object({
  case: z.object({
    name: z.string(),
    listeners: z.array(Listener),
    listenerDescriptions: z.array(z.object({ Listener: Listener.optional() })),
    toCreate: z.array(Listener).nullish(),
    toDelete: z.array(z.int()).nullish(),
  }),
});

const ListenerCase = z.object({
  case: z.object({
    name: z.string(),
    lbPort: z.int(),
    portName: z.string().optional(),
    instancePort: z.int(),
    backendProtocolAnnotation: z.string().prefault(""),
    certAnnotation: z.string().prefault(""),
    sslPortAnnotation: z.string().prefault(""),
    expectError: z.boolean().prefault(false),
    lbProtocol: z.string(),
    instanceProtocol: z.string(),
    certID: z.string().optional(),
  }),
});

const HealthCase = z.object({
  case: z.object({
    name: z.string(),
    annotations: Annotations,
    service: z.object({ metadata: z.looseObject({ annotations: Annotations }), spec: z.looseObject({}) }),
    want: z
      .object({
        Port: z.string().optional(),
        Protocol: z.string().optional(),
        Path: z.string().optional(),
        Interval: z.int().optional(),
        HealthyThreshold: z.int().optional(),
        UnhealthyThreshold: z.int().optional(),
      })
      .prefault({}),
    wantError: z.boolean().prefault(false),
  }),
  global: z.looseObject({}),
});

const CheckCase = z.object({
  case: z.object({
    name: z.string(),
    annotations: Annotations,
    port: z.looseObject({}).optional(),
    ports: Ports,
    servicePorts: Ports,
    ingressStatus: z.array(z.looseObject({})).nullish(),
    wantErr: z.unknown().optional(),
    expectedError: z.string().prefault(""),
  }),
});

async function playCases(recorded: RecordedCases): Promise<ComparedCase[]> {
  const kinds = (["TestIsNLB", "TestIsLBExternal"] as const).flatMap((test) =>
    recorded.casesOf(test).map((values): ComparedCase => {
      const { name, annotations, want } = KindCase.parse(values).case;
      const kind = getLoadBalancerKind(buildService({ annotations }));
      const observed = kind === (test === "TestIsNLB" ? "network" : "foreign");
      return { test: `${test}/${name}`, expected: want, observed };
    }),
  );
  const names = recorded.casesOf("TestBuildTargetGroupName").map((values): ComparedCase => {
    const { name, want, args, clusterID } = NameCase.parse(values).case;
    const { HealthCheckConfig: check } = args.nlbConfig;
    const observed = formatTargetGroupName({
      clusterTag: clusterID,
      namespace: args.serviceName.Namespace,
      name: args.serviceName.Name,
      servicePort: args.servicePort,
      nodePort: args.nodePort,
      protocol: args.targetProtocol,
      targetType: args.targetType,
      healthCheckProtocol: check?.Protocol ?? "",
      healthCheckIntervalSeconds: check?.Interval ?? 0,
    });
    return { test: `TestBuildTargetGroupName/${name}`, expected: want, observed };
  });
  const filters = recorded.casesOf("TestFilterTargetNodes").map((values): ComparedCase => {
    const { name, nodeLabels, annotations, nodeTargeted } = FilterCase.parse(values).case;
    const node = { name: "node0", providerID: "aws:///us-east-1a/i-1", labels: hashLabels(nodeLabels) };
    const observed = selectTarget(node, buildService({ annotations })) !== undefined;
    return { test: `TestFilterTargetNodes/${name}`, expected: nodeTargeted, observed };
  });
  return [
    ...kinds,
    ...names,
    ...filters,
    ...recorded.casesOf("TestSyncElbListeners").map(compareSyncedListeners),
    ...recorded.casesOf("TestBuildListener").map(compareListener),
    ...recorded.casesOf("TestCloud_buildNLBHealthCheckConfiguration").map(compareHealthCheck),
    ...recorded.casesOf("TestCheckProtocol").map((values) => compareCheck("TestCheckProtocol", values)),
    ...recorded
      .casesOf("TestCheckMixedProtocol")
      .map((values) => compareCheck("TestCheckMixedProtocol", values)),
    ...recorded
      .casesOf("TestValidateServiceAnnotationTargetGroupAttributes")
      .map((values) => compareCheck("TestValidateServiceAnnotationTargetGroupAttributes", values, "nlb")),
    ...recorded
      .casesOf("TestValidateServiceAnnotations")
      .map((values) => compareCheck("TestValidateServiceAnnotations", values)),
  ];
}

const ACCEPTED = "accepted";
const REJECTED = "rejected";

const PREFIX = "service.beta.kubernetes.io/aws-load-balancer-";

function compareSyncedListeners(values: unknown): ComparedCase {
  const { name, listeners, listenerDescriptions, toCreate, toDelete } = SyncCase.parse(values).case;
  const loadBalancer = { LoadBalancerName: "lb", ListenerDescriptions: listenerDescriptions };
  const actions = planListeners({ loadBalancer } as Parameters<typeof planListeners>[0], listeners);
  const reissued = actions.filter(({ action }) => action === "elb:SetLoadBalancerListenerSSLCertificate");
  const { created, deleted } = summarizeListeners(actions);
  return {
    test: `TestSyncElbListeners/${name}`,
    expected: { created: sortListeners(toCreate ?? []), deleted: toDelete ?? [], reissued: 0 },
    observed: { created: sortListeners(created), deleted, reissued: reissued.length },
  };
}

/**
 * Returns which listeners are new after the actions, and which ports have lost one: ours replaces listeners one by
 * one, and creates one for a while to try a certificate.
 */
function summarizeListeners(actions: ReturnType<typeof planListeners>) {
  const Created = z.object({ Listeners: z.array(Listener) });
  const Deleted = z.object({ LoadBalancerPorts: z.array(z.int()) });
  let created: z.output<typeof Listener>[] = [];
  const deleted: number[] = [];
  for (const { action, parameters } of actions) {
    if (action === "elb:CreateLoadBalancerListeners") created.push(...Created.parse(parameters).Listeners);
    if (action !== "elb:DeleteLoadBalancerListeners") continue;
    for (const port of Deleted.parse(parameters).LoadBalancerPorts) {
      const others = created.filter(({ LoadBalancerPort }) => LoadBalancerPort !== port);
      if (others.length === created.length) deleted.push(port);
      created = others;
    }
  }
  return { created, deleted };
}

function sortListeners(listeners: readonly z.output<typeof Listener>[]) {
  return listeners.toSorted((a, b) => a.LoadBalancerPort - b.LoadBalancerPort);
}

function compareListener(values: unknown): ComparedCase {
  const of = ListenerCase.parse(values).case;
  const annotations = {
    [`${PREFIX}backend-protocol`]: of.backendProtocolAnnotation,
    [`${PREFIX}ssl-cert`]: formatCertificate(of.certAnnotation),
    [`${PREFIX}ssl-ports`]: of.sslPortAnnotation,
  };
  const ports = [{ name: of.portName, port: of.lbPort, nodePort: of.instancePort }];
  const read = readAnnotations("classic", annotations);
  const listeners =
    read.kind === "read" ? readListeners(buildService({ ports }), read.annotations) : undefined;
  const [listener] = listeners !== undefined && "listeners" in listeners ? listeners.listeners : [];
  return {
    test: `TestBuildListener/${of.name}`,
    expected: of.expectError
      ? REJECTED
      : {
          ports: [of.lbPort, of.instancePort],
          protocols: [of.lbProtocol.toUpperCase(), of.instanceProtocol.toUpperCase()],
          certificate: of.certID && formatCertificate(of.certID),
        },
    observed:
      listener === undefined
        ? REJECTED
        : {
            ports: [listener.LoadBalancerPort, listener.InstancePort],
            protocols: [listener.Protocol, listener.InstanceProtocol],
            certificate: listener.SSLCertificateId,
          },
  };
}

/** A certificate is named by its ARN here, as AWS needs it. */
function formatCertificate(id: string): string {
  return id === "" ? "" : `arn:aws:acm:us-east-1:123456789012:certificate/${id.replaceAll("=", "x")}`;
}

/** The timeout is left out, because the stock controller computes one and never sends it. */
function compareHealthCheck(values: unknown): ComparedCase {
  const { case: of, global } = HealthCase.parse(values);
  const Configured = z.object({
    ClusterServiceLoadBalancerHealthProbeMode: z.string().optional(),
    ClusterServiceSharedLoadBalancerHealthProbePort: z.int().optional(),
    ClusterServiceSharedLoadBalancerHealthProbePath: z.string().optional(),
  });
  const configured = Configured.parse(global);
  const { spec } = of.service;
  const service = buildService({ annotations: of.service.metadata.annotations, spec });
  const read = readAnnotations("network", service.metadata.annotations);
  const check =
    read.kind === "read"
      ? readHealthCheck(service, read.annotations, {
          clusterServiceLoadBalancerHealthProbeMode: configured.ClusterServiceLoadBalancerHealthProbeMode,
          clusterServiceSharedLoadBalancerHealthProbePort:
            configured.ClusterServiceSharedLoadBalancerHealthProbePort,
          clusterServiceSharedLoadBalancerHealthProbePath:
            configured.ClusterServiceSharedLoadBalancerHealthProbePath,
        })
      : read.issue;
  const { want } = of;
  return {
    test: `TestCloud_buildNLBHealthCheckConfiguration/${of.name}`,
    expected: of.wantError
      ? REJECTED
      : {
          protocol: want.Protocol,
          port: want.Port,
          // A TCP check has no path; upstream leaves the annotation's out when it sends the request.
          path: want.Protocol === "TCP" ? undefined : want.Path,
          interval: want.Interval,
          thresholds: [want.HealthyThreshold, want.UnhealthyThreshold],
        },
    observed:
      "code" in check
        ? REJECTED
        : {
            protocol: check.protocol,
            port: check.port,
            path: check.path,
            interval: check.intervalSeconds,
            thresholds: [check.healthyThreshold, check.unhealthyThreshold],
          },
  };
}

/** Compares whether a Service is rejected before AWS is asked. */
function compareCheck(test: string, values: unknown, type?: string): ComparedCase {
  const of = CheckCase.parse(values).case;
  const isRejected = of.expectedError !== "" || (of.wantErr !== undefined && of.wantErr !== null);
  const given = of.port === undefined ? (of.ports ?? of.servicePorts) : [of.port];
  const ports = (given ?? DEFAULT_PORTS).map((port, index) => ({ nodePort: 30_000 + index, ...port }));
  const annotations = { ...of.annotations, ...(type === undefined ? {} : { [`${PREFIX}type`]: type }) };
  const service = buildService({ annotations, ports, ingress: of.ingressStatus ?? [] });
  const question = { service, wanted: true, nodes: [] } as const;
  const isAccepted = precheck(question, SETTINGS) === undefined && !isOtherType(question);
  return {
    test: `${test}/${of.name}`,
    expected: isRejected ? REJECTED : ACCEPTED,
    observed: isAccepted ? ACCEPTED : REJECTED,
  };
}

/** Upstream guesses the type of the existing load balancer from the hostname; AWS tells it here. */
function isOtherType(question: LoadBalancerQuestion): boolean {
  const hostname = question.service.status?.loadBalancer?.ingress?.[0]?.hostname;
  if (hostname === undefined) return false;
  const tags = { "kubernetes.io/service-name": "default/web", "kubernetes.io/cluster/tenant-a": "owned" };
  const vpc = { id: "vpc-1", subnets: [], groups: [], instances: {} };
  const state: AwsLoadBalancerState = hostname.includes(".elb.amazonaws.com")
    ? { vpc, targetGroups: [], classic: { loadBalancer: { DNSName: hostname }, tags, policies: [] } }
    : {
        vpc,
        targetGroups: [],
        network: { loadBalancer: { DNSName: hostname, Type: "network" }, tags, listeners: [] },
      };
  const step = awsLoadBalancerModel.planStep(question, state, SETTINGS);
  return step.kind === "refused" && step.issue.code === "TypeChanged";
}

const DEFAULT_PORTS = [{ port: 80, protocol: "TCP" }];

/** A cluster whose operator lets Services name the resources that upstream's cases name. */
const SETTINGS: Settings = {
  ...DEFAULT_SETTINGS,
  cluster: "tenant-a",
  cloud: { provider: "aws", clusterTag: "tenant-a" },
};

interface ServiceParts {
  readonly annotations?: Readonly<Record<string, string>> | null | undefined;
  readonly ports?: readonly object[];
  readonly spec?: object;
  readonly ingress?: readonly object[];
}

function buildService({ annotations, ports = [], spec = {}, ingress = [] }: ServiceParts): Service {
  return Service.parse({
    metadata: {
      namespace: "default",
      name: "web",
      uid: "11111111-2222-4333-8444-555555555555",
      resourceVersion: "1",
      creationTimestamp: "2012-01-01T00:00:00Z",
      annotations: annotations ?? {},
    },
    spec: { type: "LoadBalancer", ports, ...spec },
    status: { loadBalancer: { ingress } },
  });
}
