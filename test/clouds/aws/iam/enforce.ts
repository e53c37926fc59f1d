import { DescribeSecurityGroupsCommand } from "@aws-sdk/client-ec2";
import { DescribeTagsCommand as DescribeClassicTagsCommand } from "@aws-sdk/client-elastic-load-balancing";
import { DescribeTagsCommand } from "@aws-sdk/client-elastic-load-balancing-v2";
import { type IamRequest, isAllowed, type Session } from "#test/clouds/aws/iam/simulate.ts";
import { type Call, formatCallName } from "#test/clouds/aws/moto/call.ts";
import { type Clients, createClients } from "#test/clouds/aws/moto/clients.ts";
import type { Authorization, MendedMoto } from "#test/clouds/aws/moto/start-mended-moto.ts";
import { getPermission } from "#test/infra/iam-roles.ts";

type Tags = Readonly<Record<string, string>>;

/**
 * IAM before moto, which checks no permissions itself: it rejects, as AWS does, what the session may not do.
 */
export interface EnforcedSession {
  readonly authorization: Authorization;
  /** Returns a description of each rejected call. */
  refused(): readonly string[];
  /** Returns how many changes passed. */
  allowed(): number;
}

/**
 * Checks every call of the service function against the session, with the tags that moto has when the call
 * arrives.
 */
export function enforceSession(session: Session, moto: MendedMoto): EnforcedSession {
  // Through the proxy, which corrects moto's tags.
  const aws = createClients(moto.url);
  const refused: string[] = [];
  let allowed = 0;
  return {
    async authorization(call) {
      for (const each of await requestsFor(call, aws)) {
        if (await isAllowed(session, each)) continue;
        refused.push(`${each.action} on ${each.resource}, tagged ${JSON.stringify(each.tags ?? {})}`);
        const code = call.service === "ec2" ? "UnauthorizedOperation" : "AccessDenied";
        return { kind: "refuse", code, status: 403 };
      }
      if (!call.operation.startsWith("Describe")) allowed += 1;
      return undefined;
    },
    refused: () => refused,
    allowed: () => allowed,
  };
}

async function requestsFor(call: Call, aws: Clients): Promise<readonly IamRequest[]> {
  const action = getPermission(formatCallName(call));
  if (call.operation.startsWith("Describe")) return [{ action }];
  if (call.service === "ec2") return groupRequests(call, action, aws);
  if (call.service === "elb") return classicRequests(call, action, aws);
  return networkRequests(call, action, aws);
}

async function groupRequests({ form }: Call, action: string, aws: Clients): Promise<readonly IamRequest[]> {
  const given = pairsOf(form, /^(?:TagSpecification\.1\.)?Tag\.(\d+)\.(Key|Value)$/);
  if (action === "ec2:CreateSecurityGroup") {
    const resource = "ec2:security-group/sg-new";
    const context = { "ec2:CreateAction": "CreateSecurityGroup" };
    return [
      { action, resource, requestTags: given },
      { action, resource: `ec2:vpc/${form["VpcId"]}` },
      { action: "ec2:CreateTags", resource, requestTags: given, context },
    ];
  }
  const id = form["GroupId"] ?? form["ResourceId.1"] ?? "";
  const { SecurityGroups: [found] = [] } = await aws.ec2.send(
    new DescribeSecurityGroupsCommand({ GroupIds: [id] }),
  );
  const context = { "ec2:Vpc": `arn:aws:ec2:eu-central-1:123456789012:vpc/${found?.VpcId}` };
  return [
    { action, resource: `ec2:security-group/${id}`, tags: tagsOf(found?.Tags), requestTags: given, context },
  ];
}

async function classicRequests({ form }: Call, action: string, aws: Clients): Promise<readonly IamRequest[]> {
  const name = form["LoadBalancerName"] ?? form["LoadBalancerNames.member.1"] ?? "";
  const resource = `elasticloadbalancing:loadbalancer/${name}`;
  const given = pairsOf(form, /^Tags\.member\.(\d+)\.(Key|Value)$/);
  if (action.endsWith(":CreateLoadBalancer")) return made(action, resource, given, {});
  const answer = aws.elb.send(new DescribeClassicTagsCommand({ LoadBalancerNames: [name] }));
  const { TagDescriptions: [found] = [] } = await answer.catch(() => ({ TagDescriptions: [] }));
  return [{ action, resource, tags: tagsOf(found?.Tags), requestTags: given }];
}

async function networkRequests({ form }: Call, action: string, aws: Clients): Promise<readonly IamRequest[]> {
  const given = pairsOf(form, /^Tags\.member\.(\d+)\.(Key|Value)$/);
  if (action.endsWith(":CreateLoadBalancer"))
    return made(action, `elasticloadbalancing:loadbalancer/net/${form["Name"]}/0123`, given, {});
  if (action.endsWith(":CreateTargetGroup"))
    return made(action, `elasticloadbalancing:targetgroup/${form["Name"]}/0123`, given, {});
  const { ListenerArn, ResourceArn = form["ResourceArns.member.1"] } = form;
  // A listener is changed to forward to a target group, but AWS checks the listener.
  const arn = ListenerArn ?? form["LoadBalancerArn"] ?? form["TargetGroupArn"] ?? ResourceArn ?? "";
  const answer = aws.elbv2.send(new DescribeTagsCommand({ ResourceArns: [arn] }));
  const { TagDescriptions: [found] = [] } = await answer.catch(() => ({ TagDescriptions: [] }));
  const tags = tagsOf(found?.Tags);
  const resource = `elasticloadbalancing:${arn.split(":").slice(5).join(":")}`;
  if (action.endsWith(":CreateListener")) return made(action, resource, given, tags);
  // The reference lists only load balancers for these two actions; AWS takes target groups and listeners too.
  const named = /:(Add|Remove)Tags$/.test(action) ? "elasticloadbalancing:loadbalancer/a0123" : resource;
  return [{ action, resource: named, tags, requestTags: given }];
}

/** A creation with tags needs two permissions. */
function made(action: string, resource: string, requestTags: Tags, tags: Tags): readonly IamRequest[] {
  const context = { "elasticloadbalancing:CreateAction": action.replace(/^.*:/, "") };
  return [
    { action, resource, requestTags, tags },
    {
      action: "elasticloadbalancing:AddTags",
      resource: "elasticloadbalancing:loadbalancer/a0123",
      requestTags,
      context,
    },
  ];
}

function pairsOf(form: Tags, name: RegExp): Tags {
  const byNumber = new Map<string, Record<string, string>>();
  for (const [key, value] of Object.entries(form)) {
    const [, number = "", part = ""] = name.exec(key) ?? [];
    if (part !== "") byNumber.set(number, { ...byNumber.get(number), [part]: value });
  }
  return Object.fromEntries(
    [...byNumber.values()].map(({ Key: key = "", Value: value = "" }) => [key, value]),
  );
}

function tagsOf(
  list: readonly { readonly Key?: string | undefined; readonly Value?: string | undefined }[] = [],
): Tags {
  return Object.fromEntries(list.map(({ Key: key = "", Value: value = "" }) => [key, value]));
}
