import { type Answer, buildFault, type Call, getResult, hasSucceeded } from "../call.ts";
import { type Behind, buildFilterForm, type Mend, type Mends } from "../mend.ts";
import { findChild, findText, listMembers, setChild, type XmlElement } from "../xml.ts";

/** Quotas that the mends enforce. */
export interface RouteQuota {
  /** Routes of a table, of each family, without its local ones. */
  routesPerTable: number;
}

/** Mends of routes and of the source/destination check of their targets. */
export function createRouteMends(quota: RouteQuota): Mends {
  return {
    byOperation: {
      "ec2:CreateRoute": async (call, next, behind) => {
        const destination = destinationOf(call);
        const wrong = await wrongTarget(call, behind);
        if (wrong !== undefined) return wrong;
        const table = call.parameters.text("RouteTableId") ?? "";
        const found = await behind.ask(
          "ec2",
          "DescribeRouteTables",
          buildFilterForm("route-table-id", [table]),
        );
        const existing = listMembers(listMembers(found, "routeTableSet").at(0), "routeSet").filter(
          (each) => findText(each, "gatewayId") !== "local",
        );
        if (existing.some((each) => cidrOf(each) === destination))
          return buildFault(
            call,
            "RouteAlreadyExists",
            `The route identified by ${destination} already exists.`,
          );
        const family = existing.filter((each) => cidrOf(each)?.includes(":") === destination?.includes(":"));
        if (family.length >= quota.routesPerTable)
          return buildFault(
            call,
            "RouteLimitExceeded",
            `The maximum number of routes has been reached for route table ${table} (${quota.routesPerTable})`,
          );
        return next(call);
      },
      "ec2:ReplaceRoute": async (call, next, behind) => (await wrongTarget(call, behind)) ?? next(call),
      "ec2:DescribeRouteTables": describe,
      "ec2:ModifyInstanceAttribute": checkOfInstance,
      "ec2:ModifyNetworkInterfaceAttribute": checkOfInterface,
    },
    forget: () => {
      quota.routesPerTable = Number.POSITIVE_INFINITY;
    },
  };
}

function destinationOf({ parameters }: Call): string | undefined {
  return parameters.text("DestinationCidrBlock") ?? parameters.text("DestinationIpv6CidrBlock");
}

function cidrOf(route: XmlElement): string | undefined {
  return findText(route, "destinationCidrBlock") ?? findText(route, "destinationIpv6CidrBlock");
}

// Returns a fault if a route's target is not an existing instance with one interface.
async function wrongTarget(call: Call, behind: Behind): Promise<Answer | undefined> {
  const id = call.parameters.text("InstanceId");
  if (id === undefined) return undefined;
  const instance = (await instancesOf([id], behind)).get(id);
  if (instance === undefined || stateOf(instance) === "terminated")
    return buildFault(call, "InvalidInstanceID.NotFound", `The instance ID '${id}' does not exist`);
  return oneInterface(call, instance);
}

function oneInterface(call: Call, instance: XmlElement): Answer | undefined {
  if (listMembers(instance, "networkInterfaceSet").length <= 1) return undefined;
  const id = findText(instance, "instanceId");
  return buildFault(
    call,
    "InvalidInstanceID",
    `There are multiple interfaces attached to instance '${id}'. Please specify an interface ID for the operation instead.`,
  );
}

const describe: Mend = async (call, next, behind) => {
  const answer = await next(call);
  if (!hasSucceeded(answer)) return answer;
  const all = listMembers(getResult(answer), "routeTableSet").flatMap((table) =>
    listMembers(table, "routeSet"),
  );
  const targets = all.filter((each) => has(each, "instanceId") || has(each, "networkInterfaceId"));
  if (targets.length === 0) return answer;
  const found = listMembers(await behind.ask("ec2", "DescribeNetworkInterfaces", {}), "networkInterfaceSet");
  const interfaces = new Map(found.map((each) => [findText(each, "networkInterfaceId") ?? "", each]));
  const ids = [...targets.map((each) => findText(each, "instanceId")), ...found.map(instanceOf)];
  const instances = await instancesOf(
    [...new Set(ids.filter((id) => id !== undefined && id !== ""))] as string[],
    behind,
  );
  for (const route of targets) {
    const instance = instances.get(
      findText(route, "instanceId") ||
        instanceOf(interfaces.get(findText(route, "networkInterfaceId") ?? "")) ||
        "",
    );
    mendRoute(route, instance);
  }
  return answer;
};

/**
 * A route to an instance also names its interface, and one to an interface its instance; it is a blackhole if
 * neither runs.
 */
function mendRoute(route: XmlElement, instance: XmlElement | undefined): void {
  const isUp = instance !== undefined && ["pending", "running"].includes(stateOf(instance));
  setChild(route, "state", isUp ? "active" : "blackhole");
  if (instance === undefined) return;
  const [primary] = listMembers(instance, "networkInterfaceSet");
  if (!has(route, "instanceId")) setChild(route, "instanceId", findText(instance, "instanceId"));
  if (!has(route, "networkInterfaceId") && primary !== undefined)
    setChild(route, "networkInterfaceId", findText(primary, "networkInterfaceId"));
}

function has(route: XmlElement, name: string): boolean {
  return (findText(route, name) ?? "") !== "";
}

function instanceOf(eni: XmlElement | undefined): string | undefined {
  return findText(findChild(eni, "attachment"), "instanceId");
}

function stateOf(instance: XmlElement): string {
  return findText(findChild(instance, "instanceState"), "name") ?? "";
}

async function instancesOf(ids: readonly string[], behind: Behind): Promise<ReadonlyMap<string, XmlElement>> {
  if (ids.length === 0) return new Map();
  const found = await behind.ask("ec2", "DescribeInstances", buildFilterForm("instance-id", ids));
  const instances = listMembers(found, "reservationSet").flatMap((each) => listMembers(each, "instancesSet"));
  return new Map(instances.map((each) => [findText(each, "instanceId") ?? "", each]));
}

// The check of an instance with one interface is that interface's.
const checkOfInstance: Mend = async (call, next, behind) => {
  const id = call.parameters.text("InstanceId") ?? "";
  const check = call.parameters.text("SourceDestCheck.Value");
  if (check === undefined) return next(call);
  const instance = (await instancesOf([id], behind)).get(id);
  if (instance === undefined)
    return buildFault(call, "InvalidInstanceID.NotFound", `The instance ID '${id}' does not exist`);
  const several = oneInterface(call, instance);
  if (several !== undefined) return several;
  const answer = await next(call);
  const [eni] = listMembers(instance, "networkInterfaceSet");
  if (hasSucceeded(answer) && eni !== undefined)
    await behind.ask("ec2", "ModifyNetworkInterfaceAttribute", {
      NetworkInterfaceId: findText(eni, "networkInterfaceId") ?? "",
      "SourceDestCheck.Value": check,
    });
  return answer;
};

const checkOfInterface: Mend = async (call, next, behind) => {
  const check = call.parameters.text("SourceDestCheck.Value");
  const answer = await next(call);
  if (check === undefined || !hasSucceeded(answer)) return answer;
  const id = call.parameters.text("NetworkInterfaceId") ?? "";
  const found = await behind.ask("ec2", "DescribeNetworkInterfaces", { "NetworkInterfaceId.1": id });
  const [eni] = listMembers(found, "networkInterfaceSet");
  const instance = instanceOf(eni);
  if (instance !== undefined && findText(findChild(eni, "attachment"), "deviceIndex") === "0")
    await behind.ask("ec2", "ModifyInstanceAttribute", {
      InstanceId: instance,
      "SourceDestCheck.Value": check,
    });
  return answer;
};
