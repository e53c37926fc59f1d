import {
  DescribeAvailabilityZonesCommand,
  type DescribeAvailabilityZonesRequest,
  type DescribeAvailabilityZonesResult,
  DescribeInstancesCommand,
  type DescribeInstancesRequest,
  type DescribeInstancesResult,
  DescribeInstanceTopologyCommand,
  type DescribeInstanceTopologyRequest,
  type DescribeInstanceTopologyResult,
  DescribeNetworkInterfacesCommand,
  type DescribeNetworkInterfacesRequest,
  type DescribeNetworkInterfacesResult,
  EC2Client,
} from "@aws-sdk/client-ec2";
import { HTTP_TIMEOUTS } from "#platforms/aws/http.ts";
import type { CredentialSource } from "#platforms/aws/role-credentials.ts";

type Ec2Call<Request, Result> = (request: Request, signal: AbortSignal) => Promise<Result>;

/**
 * The operations of EC2 that are in use. Each makes one attempt and rejects with the SDK's own errors;
 * callers retry.
 */
export interface Ec2 {
  readonly describeInstances: Ec2Call<DescribeInstancesRequest, DescribeInstancesResult>;
  readonly describeNetworkInterfaces: Ec2Call<
    DescribeNetworkInterfacesRequest,
    DescribeNetworkInterfacesResult
  >;
  readonly describeAvailabilityZones: Ec2Call<
    DescribeAvailabilityZonesRequest,
    DescribeAvailabilityZonesResult
  >;
  readonly describeInstanceTopology: Ec2Call<DescribeInstanceTopologyRequest, DescribeInstanceTopologyResult>;
  readonly close: () => void;
}

/**
 * Creates a client for EC2 in a region, over kept-alive connections, at `AWS_ENDPOINT_URL_EC2` if set.
 * Without `credentials` the SDK's standard chain provides them.
 */
export function createEc2(region: string, credentials: CredentialSource | undefined): Ec2 {
  const client = new EC2Client({
    region,
    maxAttempts: 1,
    requestHandler: HTTP_TIMEOUTS,
    ...(credentials === undefined ? {} : { credentials }),
  });
  return {
    describeInstances: (request, abortSignal) =>
      client.send(new DescribeInstancesCommand(request), { abortSignal }),
    describeNetworkInterfaces: (request, abortSignal) =>
      client.send(new DescribeNetworkInterfacesCommand(request), { abortSignal }),
    describeAvailabilityZones: (request, abortSignal) =>
      client.send(new DescribeAvailabilityZonesCommand(request), { abortSignal }),
    describeInstanceTopology: (request, abortSignal) =>
      client.send(new DescribeInstanceTopologyCommand(request), { abortSignal }),
    close: () => client.destroy(),
  };
}
