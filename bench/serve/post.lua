-- Posts the bodies of a file in turn (one JSON object a line), and tells what came of it as JSON.
-- wrk ... -s post.lua URL -- FILE KEY

local requests = {}
local place = 0

function init(args)
  local headers = {
    ["Content-Type"] = "application/json",
    ["Authorization"] = "Bearer " .. args[2],
  }
  for body in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format("POST", nil, headers, body)
  end
end

function request()
  place = place % #requests + 1
  return requests[place]
end

function done(summary)
  local errors = summary.errors
  io.write(string.format(
    'result {"requests":%d,"microseconds":%d,"bytes":%d,"status":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d}\n',
    summary.requests, summary.duration, summary.bytes,
    errors.status, errors.connect, errors.read, errors.write, errors.timeout))
end
