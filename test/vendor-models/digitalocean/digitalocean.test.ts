import { expect, test } from "vitest";
import { ActionsPage } from "#clouds/digitalocean/cloud.ts";
import { Account } from "#clouds/digitalocean/diagnose.ts";
import { DropletAnswer, DropletsPage } from "#clouds/digitalocean/droplet.ts";
import { ListedFirewall } from "#clouds/digitalocean/firewall/capability.ts";
import {
  CertificateAnswer,
  CertificatesPage,
  LoadBalancerAnswer,
} from "#clouds/digitalocean/load-balancers/balancer.ts";
import { RegionsPage } from "#clouds/digitalocean/requests.ts";
import { TAG, TOKEN } from "#emulators/digitalocean/names.ts";
import { startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import type { Program } from "#test/setup/virtual-environment.ts";
import { findUnseenFields } from "#test/vendor-models/find-unseen-fields.ts";
import { keepAnswers, runJudge } from "#test/vendor-models/judge.ts";
import { type Defect, inAnswer, inRequest, testPlantedDefects } from "#test/vendor-models/planted-defects.ts";
import { findExchange, testRecordedSuites } from "#test/vendor-models/recorded-suites.ts";
import type { Exchange } from "#test/vendor-models/recording/exchange.ts";
import { recordSuites } from "#test/vendor-models/recording/record-suites.ts";

const SUITES = "test/clouds/digitalocean/";

/** The tests that change answers of the emulated cloud, or have answers of their own. */
const CHANGED = [
  "faults.test.ts",
  "diagnose.test.ts an unparseable answer",
  "diagnose.test.ts a rejected token",
  "firewall.test.ts a proxy answers",
  "firewall.test.ts endless pages",
  "firewall.test.ts is created next to any firewalls of others",
  "firewall.test.ts it holds another thing",
  "firewall.test.ts it is another thing",
  "firewall.test.ts reports a missing firewall as gone",
  "load-balancers/capability.test.ts 202 with another schema",
  "load-balancers/capability.test.ts a 404 of another server",
  "load-balancers/capability.test.ts a list that changes during the read",
  "load-balancers/capability.test.ts a list with an entry that is not a load balancer",
  "load-balancers/capability.test.ts a proxy's page",
  "load-balancers/capability.test.ts an answer that",
  "load-balancers/life.test.ts if the creation was answered with",
  "load-balancers/targets.test.ts an API that is",
  "scale.test.ts ends at fifty pages",
  "scale.test.ts from an earlier time does not show",
  "scale.test.ts with a failed page",
  "service-validation.test.ts a proxy's 502",
  "service-validation.test.ts a success allows the Service",
].map((test) => `${SUITES}${test}`);

let recording: Promise<readonly Exchange[]> | undefined;

/** Records the suites of the cloud once. */
function record(): Promise<readonly Exchange[]> {
  recording ??= recordSuites([SUITES]).then((all) => keepAnswers([SUITES], all, CHANGED));
  return recording;
}

describeWithPart("digitalocean-judge", "exchanges with DigitalOcean, judged by its client", (judge) => {
  testRecordedSuites(judge, {
    record: record,
    operations: OPERATIONS,
    testFields(exchanges) {
      test("have every field that the product reads", () => {
        const select = (path: RegExp): unknown[] =>
          exchanges()
            .filter(({ status, target }) => status > 0 && status < 300 && path.test(target))
            .flatMap(({ answerBody }) => (answerBody === "" ? [] : [JSON.parse(answerBody)]));
        const rows = [
          ["account", Account, select(/^\/v2\/account$/)],
          ["actions", ActionsPage, select(/^\/v2\/actions/)],
          ["regions", RegionsPage, select(/^\/v2\/regions/)],
          ["droplet", DropletAnswer, select(/^\/v2\/droplets\//)],
          ["droplets", DropletsPage, select(/^\/v2\/droplets\?/)],
          ["load balancer", LoadBalancerAnswer, select(/^\/v2\/load_balancers(\/[^/?]+)?$/)],
          ["certificate", CertificateAnswer, select(/^\/v2\/certificates\//)],
          ["certificates", CertificatesPage, select(/^\/v2\/certificates\?/)],
          ["firewall", ListedFirewall, select(/^\/v2\/firewalls\?/).flatMap(listFirewalls)],
        ] as const;
        const unseen = rows.flatMap(([name, schema, answers]) =>
          findUnseenFields(schema, answers).map((field) => `${name}: ${field}`),
        );
        expect(unseen).toEqual(UNSEEN);
      });
    },
  });

  test("DigitalOcean's client understands the emulated cloud", () => playWithClient(judge));

  testPlantedDefects(judge, [
    {
      exchange: "a list of droplets",
      send: () => find("GET", /\/droplets\?/, '"active"'),
      defects: OF_DROPLETS,
    },
    {
      exchange: "a new load balancer",
      send: () => find("POST", /\/load_balancers$/, '"REGIONAL_NETWORK"'),
      defects: OF_CREATION,
    },
    {
      exchange: "a new firewall",
      send: () => find("POST", /\/firewalls$/, "load_balancer_uids"),
      defects: OF_FIREWALL,
    },
    {
      exchange: "tagged resources",
      send: () => find("POST", /\/resources$/, "load_balancer"),
      defects: OF_TAGS,
    },
  ]);
});

/** The product sends no such destinations: others alone make them. */
const UNSEEN: readonly string[] = ["firewall: outbound_rules[].destinations.load_balancer_uids"];

function listFirewalls(page: unknown): readonly unknown[] {
  return (page as { readonly firewalls: readonly unknown[] }).firewalls;
}

/** Returns the first successful exchange of an operation with this text in its request or answer. */
async function find(method: string, target: RegExp, text: string): Promise<Exchange> {
  const successful = (await record()).filter(({ status }) => status > 0 && status < 300);
  return findExchange(successful, method, target, text);
}

const OPERATIONS: readonly string[] = [
  "DELETE /load_balancers/{uuid}",
  "DELETE /load_balancers/{uuid}/droplets",
  "DELETE /tags/{name}",
  "DELETE /tags/{name}/resources",
  "GET /account",
  "GET /actions",
  "GET /certificates",
  "GET /certificates/{uuid}",
  "GET /droplets",
  "GET /droplets/{id}",
  "GET /firewalls",
  "GET /load_balancers",
  "GET /load_balancers/{uuid}",
  "GET /regions",
  "GET /tags",
  "POST /firewalls",
  "POST /load_balancers",
  "POST /load_balancers/{uuid}/droplets",
  "POST /tags",
  "POST /tags/{name}/resources",
  "PUT /firewalls/{uuid}",
  "PUT /load_balancers/{uuid}",
];

/** Plays the client of the judge on an emulated account: it reads everything, and changes what the product changes. */
async function playWithClient(judge: Program): Promise<void> {
  const fake = await startFakeDigitalOcean();
  try {
    const [first, second] = [fake.add(), fake.add({ status: "off" })];
    const gpu = fake.add({ gpu: true, size_slug: "gpu-h100x1-80gb" });
    fake.add({ tags: ["other"] });
    fake.addCertificate({ name: "web" });
    fake.destroyed.add("52000077");
    const output = JSON.parse(await runJudge(judge, ["play", fake.url, TOKEN, TAG]));
    const droplet = (
      { id, name, status, size_slug: size, region, vpc_uuid: vpc, tags }: typeof first,
      low: number,
    ) => ({
      ...{ id: Number(id), name, status, size, region, vpc, tags },
      ...{ public: `203.0.0.${low}`, private: `10.114.0.${low}` },
    });
    const common = { status: "active", ip: "198.51.100.1", tags: [], droplets: 1, ports: [80] };
    expect(output).toEqual({
      account: "active",
      remaining: 4_900,
      regions: ["fra1", "ams3", "nyc1"],
      destroyed: [52_000_077],
      droplets: [droplet(first, 1), droplet(second, 2), droplet(gpu, 3)],
      single: [droplet(first, 1), droplet(second, 2)],
      gone: 404,
      refused: 401,
      certificates: ["web verified"],
      balancers: [
        { ...common, after: "create", status: "new", ip: "" },
        { ...common, after: "a read" },
        { ...common, after: "update", ports: [80, 53] },
        { ...common, after: "add", ports: [80, 53], droplets: 2 },
        { ...common, after: "remove", ports: [80, 53] },
        { ...common, after: "tag", ports: [80, 53], tags: ["k8s:played"] },
        { ...common, after: "untag", ports: [80, 53] },
      ],
      tags: ["k8s:played"],
      // The API shows all ports as 0.
      firewalls: [{ name: "played", ports: ["in 30080", "out 0"], tags: ["k8s-played"] }],
    });
    expect([...fake.loadBalancers.keys()]).toEqual([]);
  } finally {
    await fake.close();
  }
}

const OF_DROPLETS: readonly Defect[] = [
  {
    defect: "a renamed member",
    plant: inAnswer('"size_slug"', '"size_name"'),
    expected: ["answer.droplets[].size_name: unknown to Droplet"],
  },
  {
    defect: "a missing member",
    plant: inAnswer('"volume_ids":[],', ""),
    expected: ["answer.droplets[].volume_ids: missing, Droplet has it"],
  },
  {
    defect: "a number as text",
    plant: inAnswer('"vcpus":4', '"vcpus":"4"'),
    expected: ["answer.droplets[].vcpus: a string in place of int"],
  },
  {
    defect: "no pages",
    plant: inAnswer('"links"', '"pages"'),
    expected: ["answer.links: missing, pages has it", "answer.pages: unknown to dropletsAnswer"],
  },
  {
    defect: "an unknown parameter",
    plant: (exchange) => ({ ...exchange, target: exchange.target.replace("per_page", "size") }),
    expected: ["request: unknown query size"],
  },
  {
    defect: "a page that is not a number",
    plant: (exchange) => ({ ...exchange, target: exchange.target.replace(/page=\d+/, "page=first") }),
    expected: ["request: query page is not a number from 1"],
  },
  {
    defect: "an unknown path",
    plant: (exchange) => ({ ...exchange, target: exchange.target.replace("droplets", "machines") }),
    expected: ["request: DigitalOcean's client has no such method and path"],
  },
  {
    defect: "an error of another form",
    plant: (exchange) => ({ ...exchange, status: 404, answerBody: '{"code":"not_found","message":"-"}' }),
    expected: ["error.code: unknown to errorAnswer", "error.id: missing, errorAnswer has it"],
  },
];

const OF_CREATION: readonly Defect[] = [
  {
    defect: "a name that the client does not have",
    plant: inRequest('"droplet_ids"', '"droplets"'),
    expected: ["request.droplets: unknown to LoadBalancerRequest"],
  },
  {
    defect: "an invented type",
    plant: inRequest('"REGIONAL_NETWORK"', '"NETWORK"'),
    expected: ['request.type: "NETWORK" is not among the client\'s values'],
  },
  {
    defect: "a port as text",
    plant: inRequest('"entry_port":80', '"entry_port":"80"'),
    expected: ["request.forwarding_rules[].entry_port: a string in place of int"],
  },
  {
    defect: "no body",
    plant: (exchange) => ({ ...exchange, requestBody: "" }),
    expected: ["request: not JSON"],
  },
  {
    defect: "an answer with a field of another",
    plant: inAnswer('"forwarding_rules"', '"listeners"'),
    expected: ["answer.load_balancer.listeners: unknown to LoadBalancer"],
  },
];

const OF_FIREWALL: readonly Defect[] = [
  {
    defect: "sources in another place",
    plant: inRequest('"sources"', '"source_addresses"'),
    expected: [
      "request.inbound_rules[].source_addresses: unknown to InboundRule",
      "request.inbound_rules[].sources: missing, InboundRule has it",
    ],
  },
  {
    defect: "ports as a number",
    plant: inRequest(/"ports":"(\d+)"/, '"ports":$1'),
    expected: ["request.inbound_rules[].ports: a number in place of string"],
  },
  {
    defect: "a path that has no firewall's id",
    plant: (exchange) => ({ ...exchange, method: "PUT", target: "/v2/firewalls/fw-1" }),
    expected: ["request: DigitalOcean's client has no such method and path"],
  },
];

const OF_TAGS: readonly Defect[] = [
  {
    defect: "a type in other words",
    plant: inRequest('"load_balancer"', '"loadbalancer"'),
    expected: ['request.resources[].resource_type: "loadbalancer" is not among the client\'s values'],
  },
  {
    defect: "a body of an answer that has none",
    plant: (exchange) => ({ ...exchange, answerBody: "{}" }),
    expected: ["answer: a body"],
  },
];
