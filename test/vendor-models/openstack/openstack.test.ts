import { expect, test } from "vitest";
import { PortsPage, Server, ServersPage } from "#clouds/openstack/server.ts";
import {
  CREDENTIAL,
  errors,
  METADATA,
  NETWORK,
  PROJECT,
  REGION,
  SECRET,
  startFakeOpenStack,
  TAG,
} from "#test/clouds/openstack/fake-server.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import type { Program } from "#test/setup/virtual-environment.ts";
import { findUnseenFields } from "#test/vendor-models/find-unseen-fields.ts";
import { keepAnswers, runJudge } from "#test/vendor-models/judge.ts";
import { type Defect, inAnswer, inRequest, testPlantedDefects } from "#test/vendor-models/planted-defects.ts";
import { testRecordedSuites } from "#test/vendor-models/recorded-suites.ts";
import type { Exchange } from "#test/vendor-models/recording/exchange.ts";
import { recordSuites } from "#test/vendor-models/recording/record-suites.ts";

/** The tests that change no answer of the emulated cloud. */
const UNCHANGED = [
  "test/clouds/openstack/cloud.test.ts",
  "test/clouds/openstack/session.test.ts an application credential by its id",
  "test/clouds/openstack/session.test.ts a user and a tenant of one domain",
  "test/clouds/check-configuration.test.ts OpenStack with a network without servers",
];

describeWithPart("openstack-judge", "exchanges with OpenStack, judged by its services' schemas", (judge) => {
  testRecordedSuites(judge, {
    record: async () => {
      const suites = ["test/clouds/openstack/", "test/clouds/check-configuration.test.ts"];
      const all = await recordSuites(suites);
      const ofOpenStack = all.filter(({ target }) => /^\/(identity|compute|network)\//.test(target));
      return keepAnswers(UNCHANGED, ofOpenStack);
    },
    operations: OPERATIONS,
    testFields(exchanges) {
      test("have every field that the product reads", () => {
        const read = (path: string) =>
          exchanges()
            .filter(({ status, target }) => status === 200 && target.includes(path))
            .map(({ answerBody }) => JSON.parse(answerBody));
        const pages = read("/servers/detail");
        // The last page has no links, and no emulated project fills a page.
        expect(findUnseenFields(ServersPage, pages)).toEqual(["servers_links"]);
        expect(findUnseenFields(PortsPage, read("/v2.0/ports"))).toEqual(["ports_links"]);
        // Nova's releases before 2.47 have these two, which microversion 2.47 forbids.
        const older = ["flavor.name", "flavor.id"];
        const servers = pages.flatMap((page) => page.servers);
        expect(findUnseenFields(Server, servers)).toEqual(older);
      });
    },
  });

  test("OpenStack's client reads the emulated cloud", () => readWithClient(judge));

  testPlantedDefects(judge, [
    { exchange: "a list of servers", send: exchangeServers, defects: OF_SERVERS },
    { exchange: "a list of ports", send: exchangePorts, defects: OF_PORTS },
    { exchange: "a sign-in", send: signIn, defects: OF_SIGN_IN },
  ]);
});

const OPERATIONS = [
  "GET /servers/detail",
  "GET /servers/{id}",
  "GET /v2.0/networks",
  "GET /v2.0/ports",
  "POST /auth/tokens",
];

/** Starts the client of the judge on an emulated project of four servers, of which it sees three, on two pages. */
async function readWithClient(judge: Program): Promise<void> {
  const fake = await startFakeOpenStack();
  // The client looks for the versions of services first; the product asks the catalogue alone.
  fake.fault = ({ path }) => (/\/v2(\.\d)?\/?$/.test(path) ? errors.nova(404, "itemNotFound") : undefined);
  try {
    const servers = [fake.add(), fake.add({ status: "SHUTOFF" }), fake.add()];
    const other = fake.add({ tags: ["other"] });
    const command = ["read", `${fake.authURL}/v3`, REGION, CREDENTIAL, SECRET, TAG, PROJECT];
    const understood = JSON.parse(await runJudge(judge, command));
    const listed = servers.map(({ id, name, status }, index) => ({
      ...{
        id,
        name,
        status,
        project: PROJECT,
        flavor: "m1.large",
        zone: "az1",
        metadata: METADATA,
        tags: [TAG],
      },
      addresses: [
        ["fixed", `10.20.0.${index + 1}`],
        ["floating", `203.0.0.${index + 1}`],
      ],
    }));
    const ports = [...servers, other].map(({ id }, index) => ({
      ...{ server: id, owner: "compute:nova", network: NETWORK, status: "ACTIVE" },
      addresses: [`10.20.0.${index + 1}`],
    }));
    expect(understood).toEqual({
      ...{ project: PROJECT, servers: listed, single: listed, missing: true, ports },
      ...{ networks: { blue: NETWORK }, refused: true },
    });
  } finally {
    await fake.close();
  }
}

const JSON_TYPE = { "content-type": "application/json" };

/** Sends a request to a new emulated cloud with one server, with a token if it is not the sign-in. */
async function exchange(method: string, target: string, requestBody: string): Promise<Exchange> {
  const fake = await startFakeOpenStack();
  try {
    fake.add();
    fake.tokens.add("a-token");
    const version = { "x-openstack-nova-api-version": "2.47" };
    const headers = requestBody === "" ? { "x-auth-token": "a-token", ...version } : JSON_TYPE;
    const body = requestBody === "" ? {} : { body: requestBody };
    const response = await fetch(`${fake.url}${target}`, { method, headers, ...body });
    const answer = { status: response.status, answerHeaders: {}, answerBody: await response.text() };
    return { file: "-", test: "-", method, target, requestHeaders: version, requestBody, ...answer };
  } finally {
    await fake.close();
  }
}

const exchangeServers = () => exchange("GET", `/compute/v2.1/servers/detail?limit=1000&tags=${TAG}`, "");
const exchangePorts = () =>
  exchange("GET", "/network/v2.0/ports?fields=id&fields=fixed_ips&sort_key=id&sort_dir=asc", "");
const signIn = () =>
  exchange(
    "POST",
    "/identity/v3/auth/tokens",
    JSON.stringify({
      auth: {
        identity: {
          methods: ["application_credential"],
          application_credential: { id: CREDENTIAL, secret: SECRET },
        },
      },
    }),
  );

const OF_SERVERS: readonly Defect[] = [
  {
    defect: "a renamed member",
    plant: inAnswer('"OS-EXT-AZ:availability_zone"', '"availability_zone"'),
    expected: [
      "answer.servers[]: 'OS-EXT-AZ:availability_zone' is a required property",
      "answer.servers[]: Additional properties are not allowed ('availability_zone' was unexpected)",
    ],
  },
  {
    defect: "a wrong type",
    plant: inAnswer('"tags":["k8s-blue"]', '"tags":"k8s-blue"'),
    expected: ["answer.servers[].tags: k8s-blue breaks type"],
  },
  {
    defect: "a member of another microversion",
    plant: inAnswer('"original_name"', '"name"'),
    expected: [
      "answer.servers[].flavor: 'original_name' is a required property",
      "answer.servers[].flavor: Additional properties are not allowed ('name' was unexpected)",
    ],
  },
  {
    defect: "an invented status",
    plant: inAnswer('"ACTIVE"', '"RUNNING"'),
    expected: ["answer.servers[].status: RUNNING breaks enum"],
  },
  {
    defect: "an unknown parameter",
    plant: (each) => ({ ...each, target: `${each.target}&labels=a` }),
    expected: ["request: unknown query labels"],
  },
  {
    defect: "an invalid limit",
    plant: (each) => ({ ...each, target: each.target.replace("1000", "all") }),
    expected: ["request: query.limit[]: 'all' does not match '^[0-9]*$'"],
  },
  {
    defect: "Nova's name of another error",
    plant: (each) => ({ ...each, status: 403, answerBody: '{"denied":{"code":403,"message":"no"}}' }),
    expected: ["error: {'denied': {'code': 403, 'message': 'no'}} in place of forbidden, Nova's name of 403"],
  },
];

const OF_PORTS: readonly Defect[] = [
  {
    defect: "a renamed member",
    plant: inAnswer('"fixed_ips"', '"addresses"'),
    expected: [
      "answer.ports[].addresses: no visible attribute",
      "answer.ports[].addresses: not among the fields of the request",
      "answer.ports[].fixed_ips: missing",
    ],
  },
  {
    defect: "an invalid value",
    plant: inAnswer('"9a7e0b1c-', '"port-'),
    expected: ["answer.ports[].id: invalid by type:uuid"],
  },
  {
    defect: "a filter that Neutron does not have",
    plant: (each) => ({ ...each, target: `${each.target}&server=a`, status: 0 }),
    expected: ["request: server is no filter"],
  },
  {
    defect: "a sort key without its direction",
    plant: (each) => ({ ...each, target: each.target.replace("&sort_dir=asc", "") }),
    expected: ["request: Neutron wants as many sort_dir as sort_key"],
  },
];

const OF_SIGN_IN: readonly Defect[] = [
  {
    defect: "a missing secret",
    plant: inRequest(`,"secret":"${SECRET}"`, ""),
    expected: ["request.auth: 'secret' is missing"],
  },
  {
    defect: "a misspelled member",
    plant: inRequest('{"id":', '{"uuid":'),
    expected: ["request.auth: keystoneauth sends another body for the same identity"],
  },
  {
    defect: "a list in place of an object",
    plant: inAnswer('"project":{', '"project":[{}],"other":{'),
    expected: [
      "answer.token.other: Keystone writes no such member",
      "answer.token.project: list in place of an object",
    ],
  },
  {
    defect: "a renamed member of the catalogue",
    plant: inAnswer('"interface"', '"visibility"'),
    expected: [
      "answer.token.catalog[].endpoints[].interface: missing, Keystone writes it",
      "answer.token.catalog[].endpoints[].visibility: Keystone writes no such member",
    ],
  },
];
