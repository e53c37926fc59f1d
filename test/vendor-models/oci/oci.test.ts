import { expect, test } from "vitest";
import { Balancer } from "#clouds/oci/load-balancers/state.ts";
import { API_KEY, REGION, TENANCY, USER } from "#test/clouds/oci/fake/credentials.ts";
import { startFakeAccount } from "#test/clouds/oci/load-balancers/fake-account.ts";
import { createPlayer } from "#test/clouds/oci/load-balancers/play.ts";
import {
  buildQuestion,
  buildService,
  CLUSTER,
  COMPARTMENT,
  UID,
} from "#test/clouds/oci/load-balancers/service.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import type { Program } from "#test/setup/virtual-environment.ts";
import { findUnseenFields } from "#test/vendor-models/find-unseen-fields.ts";
import { keepAnswers, runJudge } from "#test/vendor-models/judge.ts";
import { type Defect, inAnswer, inRequest, testPlantedDefects } from "#test/vendor-models/planted-defects.ts";
import { findExchange, testRecordedSuites } from "#test/vendor-models/recorded-suites.ts";
import type { Exchange } from "#test/vendor-models/recording/exchange.ts";
import { recordSuites } from "#test/vendor-models/recording/record-suites.ts";

/** The tests that change no answer of the emulated cloud. */
const UNCHANGED = [
  "test/clouds/oci/cloud.test.ts",
  "test/clouds/oci/load-balancers-conformance.test.ts",
  "test/clouds/oci/load-balancers/life.test.ts",
  "test/clouds/oci/load-balancers/orphans.test.ts",
  "test/clouds/oci/load-balancers/security.test.ts",
  "test/clouds/oci/instance.test.ts single reads and lists give the same answers",
  "test/clouds/oci/check-configuration.test.ts a valid configuration",
];
const EXCEPT = ["test/clouds/oci/load-balancers/life.test.ts keeps rule sets whose defaults the API shows"];

/** Its actions have bodies of its own, with which the product does nothing but to send them. */
const OF_TEST = "test/clouds/oci/load-balancers/act.test.ts";

let recording: Promise<readonly Exchange[]> | undefined;

/** Records the suites of the cloud once. */
function record(): Promise<readonly Exchange[]> {
  recording ??= recordSuites(["test/clouds/oci/"]).then((all) =>
    keepAnswers(
      UNCHANGED,
      all.filter(({ file }) => file !== OF_TEST),
      EXCEPT,
    ),
  );
  return recording;
}

describeWithPart("oci-judge", "exchanges with Oracle Cloud, judged by its client's models", (judge) => {
  testRecordedSuites(judge, {
    record: record,
    operations: OPERATIONS,
    testFields(exchanges) {
      test("have every field that the product reads of load balancers", () => {
        const balancers = exchanges()
          .filter(({ status, target }) => status === 200 && /oadBalancers\/[^/]+$/.test(target))
          .map(({ answerBody }) => JSON.parse(answerBody));
        expect(findUnseenFields(Balancer, balancers)).toEqual(UNSEEN);
      });
    },
  });

  test("Oracle's client reads the emulated cloud, and signs for it", () => readWithClient(judge));

  testPlantedDefects(judge, [
    {
      exchange: "a new load balancer",
      send: () => find("POST", /loadBalancers$/, '"weight":1'),
      defects: OF_CREATION,
    },
    {
      exchange: "a load balancer",
      send: () => find("GET", /loadBalancers\/[^/]+$/, '"ACTIVE"'),
      defects: OF_BALANCER,
    },
    {
      exchange: "a list of instances",
      send: () => find("GET", /\/instances\?/, '"RUNNING"'),
      defects: OF_INSTANCES,
    },
  ]);
});

/** Returns the first exchange of an operation with this text in its request or answer. */
async function find(method: string, target: RegExp, text: string): Promise<Exchange> {
  return findExchange(await record(), method, target, text);
}

const OPERATIONS: readonly string[] = [
  "/20160918 DELETE /networkSecurityGroups/{networkSecurityGroupId}",
  "/20160918 GET /instances",
  "/20160918 GET /instances/{instanceId}",
  "/20160918 GET /ipv6",
  "/20160918 GET /networkSecurityGroups",
  "/20160918 GET /networkSecurityGroups/{networkSecurityGroupId}",
  "/20160918 GET /networkSecurityGroups/{networkSecurityGroupId}/securityRules",
  "/20160918 GET /privateIps",
  "/20160918 GET /publicIps",
  "/20160918 GET /subnets/{subnetId}",
  "/20160918 GET /vcns/{vcnId}",
  "/20160918 GET /vnicAttachments",
  "/20160918 GET /vnics/{vnicId}",
  "/20160918 POST /networkSecurityGroups",
  "/20160918 POST /networkSecurityGroups/{networkSecurityGroupId}/actions/addSecurityRules",
  "/20160918 POST /networkSecurityGroups/{networkSecurityGroupId}/actions/removeSecurityRules",
  "/20160918 POST /publicIps/actions/getByIpAddress",
  "/20160918 PUT /networkSecurityGroups/{networkSecurityGroupId}",
  "/20170115 DELETE /loadBalancers/{loadBalancerId}",
  "/20170115 DELETE /loadBalancers/{loadBalancerId}/backendSets/{backendSetName}",
  "/20170115 DELETE /loadBalancers/{loadBalancerId}/listeners/{listenerName}",
  "/20170115 DELETE /loadBalancers/{loadBalancerId}/ruleSets/{ruleSetName}",
  "/20170115 GET /loadBalancers",
  "/20170115 GET /loadBalancers/{loadBalancerId}",
  "/20170115 GET /loadBalancers/{loadBalancerId}/workRequests",
  "/20170115 POST /loadBalancers",
  "/20170115 POST /loadBalancers/{loadBalancerId}/backendSets",
  "/20170115 POST /loadBalancers/{loadBalancerId}/listeners",
  "/20170115 POST /loadBalancers/{loadBalancerId}/ruleSets",
  "/20170115 PUT /loadBalancers/{loadBalancerId}",
  "/20170115 PUT /loadBalancers/{loadBalancerId}/backendSets/{backendSetName}",
  "/20170115 PUT /loadBalancers/{loadBalancerId}/listeners/{listenerName}",
  "/20170115 PUT /loadBalancers/{loadBalancerId}/networkSecurityGroups",
  "/20170115 PUT /loadBalancers/{loadBalancerId}/ruleSets/{ruleSetName}",
  "/20170115 PUT /loadBalancers/{loadBalancerId}/updateShape",
  "/20200501 DELETE /networkLoadBalancers/{networkLoadBalancerId}",
  "/20200501 DELETE /networkLoadBalancers/{networkLoadBalancerId}/backendSets/{backendSetName}",
  "/20200501 DELETE /networkLoadBalancers/{networkLoadBalancerId}/listeners/{listenerName}",
  "/20200501 GET /networkLoadBalancers",
  "/20200501 GET /networkLoadBalancers/{networkLoadBalancerId}",
  "/20200501 GET /workRequests",
  "/20200501 POST /networkLoadBalancers",
  "/20200501 POST /networkLoadBalancers/{networkLoadBalancerId}/backendSets",
  "/20200501 POST /networkLoadBalancers/{networkLoadBalancerId}/listeners",
  "/20200501 PUT /networkLoadBalancers/{networkLoadBalancerId}",
  "/20200501 PUT /networkLoadBalancers/{networkLoadBalancerId}/backendSets/{backendSetName}",
  "/20200501 PUT /networkLoadBalancers/{networkLoadBalancerId}/listeners/{listenerName}",
  "/20200501 PUT /networkLoadBalancers/{networkLoadBalancerId}/networkSecurityGroups",
];

/** Fields of Oracle's models that no test's load balancers have. */
const UNSEEN = [
  "lifecycleDetails",
  "backendSets{}.sessionPersistenceConfiguration",
  "backendSets{}.lbCookieSessionPersistenceConfiguration",
];

const OTHER_UID = "1f0c3a52-6b1e-4f6e-9c39-0a1b2c3d4e5f";

/** Starts the client of the judge on an account with instances and what the controllers made of two Services. */
async function readWithClient(judge: Program): Promise<void> {
  const account = await startFakeAccount();
  const player = createPlayer(account);
  try {
    account.oci.pageLimit = 1;
    account.oci.compute.add({ displayName: "node-1" });
    account.oci.compute.add({ displayName: "node-2", lifecycleState: "STOPPED" });
    const managed = { "oci:security-rule-management-mode": "NSG" };
    await player.settle(buildQuestion(buildService(managed)));
    const nlb = { "oci:load-balancer-type": "nlb" };
    await player.settle(buildQuestion(buildService(nlb, {}, { name: "dns", uid: OTHER_UID })));
    const { pem: key, fingerprint } = API_KEY;
    const settings = {
      user: USER,
      tenancy: TENANCY,
      fingerprint,
      key,
      compartment: COMPARTMENT,
      region: REGION,
    };
    const understood = await runJudge(judge, ["read", account.oci.url], JSON.stringify(settings));
    const common = { state: "ACTIVE", listeners: { "TCP-80": ["TCP", 80] } };
    const backends = { "TCP-80": ["10.0.0.1:30080", "10.0.0.2:30080"] };
    const tagOf = (name: string) => ({
      "serverless-ccm-cluster": CLUSTER,
      "serverless-ccm-service": `default/${name}`,
    });
    expect(JSON.parse(understood)).toEqual({
      instances: [
        ["node-1", "RUNNING", "VM.Standard.E5.Flex", "phx"],
        ["node-2", "STOPPED", "VM.Standard.E5.Flex", "phx"],
      ],
      vnics: [
        ["10.0.0.2", true],
        ["10.0.0.3", true],
      ],
      groups: { [UID]: [["INGRESS", "6"]] },
      balancers: [{ ...common, name: UID, addresses: [["203.0.113.1", true]], backends, tags: tagOf("web") }],
      networks: [
        {
          ...{ ...common, name: `default/dns/${OTHER_UID}`, backends, tags: tagOf("dns") },
          addresses: [
            ["203.0.113.1", true],
            ["10.0.250.1", false],
          ],
        },
      ],
      missing: [404, "NotAuthorizedOrNotFound"],
    });
  } finally {
    player.close();
    await account.close();
  }
}

const OF_CREATION: readonly Defect[] = [
  {
    defect: "a missing member",
    plant: inRequest('"shapeName"', '"shape"'),
    expected: [
      "request.shape: unknown to CreateLoadBalancerDetails",
      "request.shapeName: missing, required in CreateLoadBalancerDetails",
    ],
  },
  {
    defect: "an unknown value",
    plant: inRequest('"isPrivate":false', '"isPrivate":false,"ipMode":"IPV5"'),
    expected: ["request.ipMode: IPV5 is not among IPV4, IPV6"],
  },
  {
    defect: "a member that answers alone have",
    plant: inRequest('"weight":1', '"weight":1,"name":"10.0.0.1:30080"'),
    expected: ["request.backendSets{}.backends[].name: unknown to BackendDetails"],
  },
  {
    defect: "a number as a text",
    plant: inRequest('"weight":1', '"weight":"1"'),
    expected: ["request.backendSets{}.backends[].weight: a text in place of int"],
  },
  {
    defect: "a path that Oracle lacks",
    plant: (each) => ({ ...each, target: each.target.replace("loadBalancers", "balancers") }),
    expected: ["request: Oracle's client has no such method and path"],
  },
];

const OF_BALANCER: readonly Defect[] = [
  {
    defect: "a renamed member",
    plant: inAnswer('"displayName"', '"name"'),
    expected: [
      "answer.displayName: missing, required in LoadBalancer",
      "answer.name: unknown to LoadBalancer",
    ],
  },
  {
    defect: "an invented state",
    plant: inAnswer('"lifecycleState":"ACTIVE"', '"lifecycleState":"UPDATING"'),
    expected: ["answer.lifecycleState: UPDATING is not among CREATING, FAILED, ACTIVE, DELETING, DELETED"],
  },
  {
    defect: "an object in place of a list",
    plant: inAnswer('"networkSecurityGroupIds":[', '"networkSecurityGroupIds":{},"subnetIds":['),
    expected: ["answer.networkSecurityGroupIds: an object in place of a list"],
  },
];

const OF_INSTANCES: readonly Defect[] = [
  {
    defect: "a parameter that is required",
    plant: (each) => ({ ...each, target: each.target.replace("compartmentId", "compartment") }),
    expected: ["request: query compartmentId is missing", "request: unknown query compartment"],
  },
];
