import { expect, test } from "vitest";
import { ActionsPage } from "#clouds/hcloud/cloud.ts";
import { HcloudNetwork, NetworksPage, Server, ServersPage } from "#clouds/hcloud/server.ts";
import { NETWORK, NETWORK_NAME, SELECTOR, startFakeHcloud, TOKEN } from "#test/clouds/hcloud/fake-server.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import type { Program } from "#test/setup/virtual-environment.ts";
import { findUnseenFields } from "#test/vendor-models/find-unseen-fields.ts";
import { keepAnswers, runJudge } from "#test/vendor-models/judge.ts";
import { type Defect, inAnswer, testPlantedDefects } from "#test/vendor-models/planted-defects.ts";
import { testRecordedSuites } from "#test/vendor-models/recorded-suites.ts";
import type { Exchange } from "#test/vendor-models/recording/exchange.ts";
import { recordSuites } from "#test/vendor-models/recording/record-suites.ts";

/** The tests that change no answer of the emulated cloud. */
const UNCHANGED = [
  "test/clouds/hcloud/cloud.test.ts",
  "test/clouds/hcloud/scale.test.ts one after another",
  "test/clouds/hcloud/faults.test.ts a server whose deletion is among the project's actions",
];

describeWithPart("hcloud-judge", "exchanges with Hetzner, judged by the types of its client", (judge) => {
  testRecordedSuites(judge, {
    record: async () => keepAnswers(UNCHANGED, await recordSuites(["test/clouds/hcloud/"])),
    operations: OPERATIONS,
    testFields(exchanges) {
      test("have every field that the product reads", () => {
        const bodies = exchanges()
          .filter(({ status }) => status === 200)
          .map(({ answerBody }) => JSON.parse(answerBody));
        const servers = bodies.filter((body) => "servers" in body);
        const networks = bodies.filter((body) => "networks" in body);
        const actions = bodies.filter((body) => "actions" in body);
        expect(findUnseenFields(ServersPage, servers)).toEqual([]);
        expect(findUnseenFields(ActionsPage, actions)).toEqual([]);
        expect(findUnseenFields(NetworksPage, networks)).toEqual([]);
        const eachServer = servers.flatMap((body) => body.servers);
        expect(findUnseenFields(Server, eachServer)).toEqual([]);
        const eachNetwork = networks.flatMap((body) => body.networks);
        expect(findUnseenFields(HcloudNetwork, eachNetwork)).toEqual([]);
      });
    },
  });

  test("Hetzner's client reads the emulated cloud", () => readWithClient(judge));

  testPlantedDefects(judge, [{ exchange: "a list of servers", send: exchangeServers, defects: DEFECTS }]);
});

const OPERATIONS = ["GET /networks", "GET /servers", "GET /servers/actions", "GET /servers/{id}"];

/** Starts the client of the judge on an emulated project of three servers, of which it sees two. */
async function readWithClient(judge: Program): Promise<void> {
  const fake = await startFakeHcloud();
  try {
    const [first, second] = [fake.add({ id: "9007199254740993" }), fake.add({ status: "off" })];
    fake.add({ labels: { cluster: "green" } });
    fake.deleted.add("52000077");
    const output = await runJudge(judge, ["read", `${fake.url}/v1`, TOKEN, SELECTOR]);
    const text = (id: string, name: string, status: string, low: number) =>
      `{"id":${id},"name":"${name}","status":"${status}","type":"cpx31","location":"fsn1",` +
      `"ipv4":"203.0.0.${low}","ipv6":"2001:db8:0:${low}::/64",` +
      `"private":{"${NETWORK}":"10.0.0.${low}"},"labels":{"cluster":"blue"}}`;
    // By id; a number beyond 53 bits is compared as text.
    const servers = [text(second.id, second.name, "off", 2), text(first.id, first.name, "running", 1)].join();
    expect(output.trim()).toBe(
      `{"deleted":[52000077],"missing":true,"networks":{"${NETWORK_NAME}":${NETWORK}},"refused":true,` +
        `"servers":[${servers}],"single":[${servers}]}`,
    );
  } finally {
    await fake.close();
  }
}

/** Returns a list of servers, as the emulated cloud answers it. */
async function exchangeServers(): Promise<Exchange> {
  const fake = await startFakeHcloud();
  try {
    fake.add();
    const target = "/v1/servers?page=1&per_page=50&sort=id%3Aasc";
    const response = await fetch(`${fake.url}${target}`, { headers: { authorization: `Bearer ${TOKEN}` } });
    const answerBody = await response.text();
    const none = { requestHeaders: {}, requestBody: "", answerHeaders: {} };
    return { file: "-", test: "-", method: "GET", target, ...none, status: response.status, answerBody };
  } finally {
    await fake.close();
  }
}

const DEFECTS: readonly Defect[] = [
  {
    defect: "a renamed member",
    plant: inAnswer('"private_net"', '"private_networks"'),
    expected: [
      "answer.servers[].private_net: missing, Server has it",
      "answer.servers[].private_networks: unknown to Server",
    ],
  },
  {
    defect: "a member in another spelling",
    plant: inAnswer('"server_type"', '"Server_Type"'),
    expected: [
      "answer.servers[].Server_Type: unknown to Server",
      "answer.servers[].server_type: missing, Server has it",
    ],
  },
  {
    defect: "a number as text",
    plant: inAnswer('"network":4711', '"network":"4711"'),
    expected: ["answer.servers[].private_net[].network: a string in place of int64"],
  },
  {
    defect: "an invented status",
    plant: inAnswer('"status":"running"', '"status":"active"'),
    expected: ['answer.servers[].status: "active" is not among the client\'s values'],
  },
  {
    defect: "no pages",
    plant: inAnswer('"meta"', '"links"'),
    expected: ["answer.links: unknown to ServerListResponse", "answer.meta: missing, MetaResponse has it"],
  },
  {
    defect: "an unknown parameter",
    plant: (exchange) => ({ ...exchange, target: exchange.target.replace("per_page", "size") }),
    expected: ["request: unknown query size"],
  },
  {
    defect: "an unknown path",
    plant: (exchange) => ({ ...exchange, target: exchange.target.replace("servers", "machines") }),
    expected: ["request: Hetzner's client has no such method and path"],
  },
  {
    defect: "an error of another form",
    plant: (exchange) => ({ ...exchange, status: 404, answerBody: '{"code":"not_found"}' }),
    expected: ["error.code: unknown to ErrorResponse", "error.error: missing, ErrorResponse has it"],
  },
];
